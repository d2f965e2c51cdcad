package member

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheServiceManagerIsNotified: `systemctl start` of an agent returns when the machine's pods were reconciled, not
// before. One that goes on with another client doesn't say that it stops: it would be killed.
func TestTheServiceManagerIsNotified(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	next := func(want string) {
		t.Helper()
		_ = listener.SetReadDeadline(time.Now().Add(20 * time.Second))
		buffer := make([]byte, 4096)
		n, err := listener.Read(buffer)
		if got := string(buffer[:n]); err != nil || !slices.Contains(strings.Split(got, "\n"), want) {
			t.Fatalf("%q, %v; want %s", got, err, want)
		}
	}
	process, end := context.WithCancel(t.Context())
	defer end()
	live := func() (ready chan struct{}, cancel func(), ended chan error) {
		life, cancel := context.WithCancel(process)
		ready, ended = make(chan struct{}), make(chan error, 1)
		go func() { ended <- announce(life, process, ready, slog.New(slog.DiscardHandler)) }()
		next("STATUS=waiting for the server")
		return ready, cancel, ended
	}
	ready, cancel, ended := live()
	close(ready)
	next("READY=1")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	ready, cancel, ended = live() // what came before it would have been read first
	defer cancel()
	close(ready)
	next("READY=1")
	end()
	next("STOPPING=1")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
