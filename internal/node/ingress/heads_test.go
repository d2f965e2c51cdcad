package ingress

import (
	"strings"
	"testing"
)

func TestDotted(t *testing.T) {
	for path, want := range map[string]bool{
		"/a/..": true, "/.": true, "/./a": true, "/a/../b": true, "/...": false, "/.a": false, "/a./b..": false,
		"/..a/.": true, "*": false,
		`/a/..\b`: true, `/a\..\b`: true, "/a/..;/b": true, "/a/.;x": true, "/a/...;": false, `/a\b`: false,
		"/": false, "": false,
	} {
		if dotted(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

// TestWhatAClientSaysOfItself: the header fields in which a client claims an origin are recognized, however they are
// spelled.
func TestWhatAClientSaysOfItself(t *testing.T) {
	for name, want := range map[string]bool{
		"X_Forwarded-For": true, "X-REAL_IP": true, "x-real-ip": true, "Forwarded": true, "X-Forwarded": true,
		"X_FORWARDED_PREFIX": true,
		"X-Forwarded-Host":   true, "X-Forwarded-Proto": true, "X-Forwarded-Port": true, "X-Forwarded-Ssl": true,
		"X-Forwarded-Scheme": true, "X-Forwarded-Server": true, "X_Original-URL": true, "X-Rewrite-Url": true,
		"X-Original-Host": true,
		"Front-End-Https": true, "X-Scheme": true, "X-Forwarded-": true, "X-Forwardedness": false, "X-Original": false,
		"X_Mine": false, "Proxy": true, "PROXY": true, "Proxy-Status": false, "X.Forwarded.For": true, "X_Forwarded.For": true,
		"Cookie": false, "Connection": false, "Content-Type": false, "Client": false, "": false, "Accept": false,
	} {
		for _, trusted := range []bool{false, true} {
			if claims(name, trusted) != want {
				t.Errorf("%s, from a trusted proxy %t: %v", name, trusted, !want)
			}
		}
	}
	for _, name := range []string{"CF-Connecting-IP", "True-Client-Ip", "X-Client-Ip", "Client-Ip", "Client_Ip",
		"X-Cluster-Client-Ip", "X.Client.IP", "Fastly-Client-Ip"} {
		if !claims(name, false) || claims(name, true) {
			t.Errorf("%s: from a client %t, from a trusted proxy %t", name, claims(name, false), claims(name, true))
		}
	}
}

// TestNoVariableOfCGI: each name that becomes the variable of a field that Tend sets or drops, is dropped too.
func TestNoVariableOfCGI(t *testing.T) {
	for _, known := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip",
		"X-Forwarded-Prefix", "Forwarded", "Proxy"} {
		for _, c := range "!#$%&'*+.^_`|~-" {
			if name := strings.ReplaceAll(known, "-", string(c)); !claims(name, true) {
				t.Errorf("%s passes", name)
			}
		}
	}
}

func TestValidHost(t *testing.T) {
	for host, want := range map[string]bool{
		"raw.test": true, "raw.test:80": true, "RAW_1.test.": true, "10.0.0.1:8080": true, "[::1]": true, "[::1]:80": true,
		"": true, "raw.test:": true,
		"raw.test:abc": false, "raw.test:65536": false, "raw.test:-1": false, "raw.test:+1": false, "raw.test:80:80": false,
		"raw.test: 80":  false,
		"user@raw.test": false, "raw.test/": false, "raw test": false, "raw\x00.test": false, `raw"test`: false,
		"r\u00e4w.test": false,
		"[::1":          false, "[::1]80": false, "[::1]:x": false, "[raw.test]": false, "[fe80::1%eth0]": false,
		"[10.0.0.1]": false, "::1": false,
	} {
		if validHost(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
