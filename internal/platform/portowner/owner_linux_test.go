package portowner_test

import (
	"net"
	"os"
	"testing"

	"tend.dev/tend/internal/platform/portowner"
)

// TestOwner: this process is found by the port on which it listens, and no longer once it has stopped listening.
func TestOwner(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp6"} {
		listener, err := net.Listen(network, "localhost:0")
		if err != nil {
			t.Log(err) // a machine without IPv6
			continue
		}
		port := listener.Addr().(*net.TCPAddr).Port
		owner, found := portowner.Of(port)
		if !found || owner.PID != os.Getpid() || owner.Name == "" {
			t.Errorf("%s: %v, %v", network, owner, found)
		}
		listener.Close()
		if owner, found := portowner.Of(port); found {
			t.Errorf("%s: %v after the end", network, owner)
		}
	}
}
