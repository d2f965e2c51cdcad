package api

import (
	"strings"
	"testing"
)

func TestParseListen(t *testing.T) {
	for text, want := range map[string]string{
		"5432": ":5432 5432/tcp tcp://*:5432", "53/udp": ":53 53/udp udp://*:53", "53/UDP": ":53 53/udp udp://*:53",
		"0.0.0.0:80": ":80 80/tcp tcp://*:80", "[::]:80": ":80 80/tcp tcp://*:80", ":80": ":80 80/tcp tcp://*:80",
		"10.0.0.1:80/tcp":      "10.0.0.1:80 10.0.0.1:80/tcp tcp://10.0.0.1:80",
		"[::1]:80":             "[::1]:80 [::1]:80/tcp tcp://[::1]:80",
		"[::ffff:10.0.0.1]:80": "10.0.0.1:80 10.0.0.1:80/tcp tcp://10.0.0.1:80",
	} {
		got, err := ParseListen(text)
		if all := got.Address() + " " + got.String() + " " + got.URL(); err != nil || all != want {
			t.Errorf("%s: %s, %v; want %s", text, all, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "from 1 to 65535", "0": "from 1 to 65535", "65536": "from 1 to 65535", "80-90": "from 1 to 65535",
		"-1":   "from 1 to 65535",
		"x:80": "is not an IP address", "80:80": "is not an IP address", "fe80::1%eth0:80": "is not a port such as",
		"[fe80::1%eth0]:80": "is not an IP address",
		"80/sctp":           "tcp or udp", "80/": "tcp or udp", "::1:80": "is not a port such as",
	} {
		if got, err := ParseListen(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}
