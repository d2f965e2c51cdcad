package portowner_test

import (
	"net"
	"os"
	"slices"
	"strconv"
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
