package daemon

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheServiceManagerIsNotified: systemd is notified that the server is ready when /readyz says so, and that it
// stops.
func TestTheServiceManagerIsNotified(t *testing.T) {
	m := newMachine(t)
	socket := filepath.Join(m.root, "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	next := func(want string) {
		t.Helper()
		_ = listener.SetReadDeadline(time.Now().Add(20 * time.Second))
		for buffer := make([]byte, 4096); ; {
			n, err := listener.Read(buffer)
			if err != nil {
				t.Fatalf("no %s: %v", want, err)
			}
			if slices.Contains(strings.Split(string(buffer[:n]), "\n"), want) {
				return
			}
		}
	}
	s := m.start(nil)
	next("READY=1")
	if ready, err := s.client.Readiness(t.Context()); err != nil || !ready.Ready {
		t.Errorf("systemd heard READY=1, and /readyz says %+v, %v", ready, err)
	}
	s.cancel()
	next("STOPPING=1")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}
