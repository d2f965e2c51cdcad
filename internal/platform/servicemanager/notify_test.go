package servicemanager

import (
	"bytes"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNotify: the messages are those of sd_notify(3), and neither a missing nor a dead manager is an error.
func TestNotify(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	t.Setenv("NOTIFY_SOCKET", "")
	Notify(t.Context(), log, Ready("all is well"))
	if logged.Len() != 0 {
		t.Errorf("without a manager: %s", &logged)
	}

	socket := filepath.Join(t.TempDir(), "notify")
	t.Setenv("NOTIFY_SOCKET", socket)
	Notify(t.Context(), log, Ready("all is well"))
	if !strings.Contains(logged.String(), "can't notify the service manager") {
		t.Errorf("a manager that is not there: %s", &logged)
	}

	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for state, want := range map[State]string{
		Status("waiting"):     "STATUS=waiting",
		Ready("all is well"):  "READY=1\nSTATUS=all is well",
		Stopping("finishing"): "STOPPING=1\nSTATUS=finishing",
	} {
		Notify(t.Context(), log, state)
		_ = listener.SetReadDeadline(time.Now().Add(10 * time.Second))
		buffer := make([]byte, 4096)
		n, err := listener.Read(buffer)
		if got := string(buffer[:n]); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}
