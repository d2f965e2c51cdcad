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
// before.
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- announce(ctx, ready, slog.New(slog.DiscardHandler)) }()
	next("STATUS=waiting for the server")
	close(ready)
	next("READY=1")
	cancel()
	next("STOPPING=1")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
