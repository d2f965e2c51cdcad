package portowner_test

import (
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"tend.dev/tend/internal/platform/portowner"
)

// TestListening: a port on all addresses is named alone, one of loopback with its address.
func TestListening(t *testing.T) {
	for address, prefix := range map[string]string{"0.0.0.0:0": "", "127.0.0.1:0": "127.0.0.1:"} {
		listener, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		want := prefix + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
		where, known := portowner.Listening(os.Getpid())
		if !known || !slices.Contains(where, want) {
			t.Errorf("%v, %v; want %s among them", where, known, want)
		}
		listener.Close()
		if where, _ = portowner.Listening(os.Getpid()); slices.Contains(where, want) {
			t.Errorf("%s after its end: %v", want, where)
		}
	}
	if where, known := portowner.Listening(1 << 30); known || len(where) > 0 {
		t.Errorf("of a process that isn't: %v, %v", where, known)
	}
}

// TestRefused: an occupied port is named once, with the program that has it and what to do.
func TestRefused(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	address := listener.Addr().String()
	_, err = net.Listen("tcp4", address)
	want := address + " is in use by portowner.test (pid " + strconv.Itoa(os.Getpid()) +
		"): stop what listens there, or choose another --http"
	if got := portowner.Refused(address, "--http", err); got.Error() != want || !errors.Is(got, syscall.EADDRINUSE) {
		t.Errorf("%v, want %s", got, want)
	}
	_, err = net.Listen("tcp4", "192.0.2.1:1")
	if got := portowner.Refused("192.0.2.1:1", "--http", err); !errors.Is(got, syscall.EADDRNOTAVAIL) {
		t.Errorf("another error: %v", got)
	}
}
