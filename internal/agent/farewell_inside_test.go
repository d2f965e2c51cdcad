package agent

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestConnections: those of a process's network are counted by where they come from.
func TestConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for range 2 {
		conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 7, 7, 7)}}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		accepted, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
	}
	self := filepath.Join("/proc", fmt.Sprint(os.Getpid()))
	for from, want := range map[string]int{"127.7.7.7": 2, "127.7.7.8": 0} {
		if got := connections(self, []netip.Addr{netip.MustParseAddr(from)}); got != want {
			t.Errorf("%d connections from %s, want %d", got, from, want)
		}
	}
	if got := connections(t.TempDir(), []netip.Addr{netip.MustParseAddr("127.7.7.7")}); got != 0 {
		t.Errorf("without a process: %d", got)
	}
}

func TestRemoteAddress(t *testing.T) {
	for text, want := range map[string]string{
		"0000500A:1F90": "10.80.0.0", "0000000000000000FFFF00000000500A:1F90": "10.80.0.0", "B80D01200000000000000000010000": "invalid IP", "": "invalid IP", "x": "invalid IP",
	} {
		if got := remoteAddress(text).String(); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
