package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tend.dev/tend/internal/store/etcd"
)

// transcript collects what is logged.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *transcript) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *transcript) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// mustBeCalm fails if a server's end or an error was logged. A slow disk may have its warnings.
func (l *transcript) mustBeCalm(t *testing.T, reason string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "server") {
			t.Errorf("%s, and yet the log says %s", reason, line)
		}
	}
}

func TestAGracefulStopLogsNothing(t *testing.T) {
	t.Parallel()
	log := &transcript{}
	dir := filepath.Join(t.TempDir(), "state")
	for range 2 {
		s := open(t, etcd.Options{DataDir: dir, Logger: log.logger()})
		commit(t, s, put("/a", nil))
		w := s.Watch(context.Background(), "/", 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range w.Batches() {
		}
	}
	log.mustBeCalm(t, "nothing went wrong")
}

func TestAPortInUseIsReportedOnce(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	log := &transcript{}
	address := "http://" + listener.Addr().String()
	for name, o := range map[string]etcd.Options{"client": {ClientURL: address}, "peer": {PeerURL: address}} {
		o.DataDir, o.Logger, o.Ballast = filepath.Join(t.TempDir(), "state"), log.logger(), -1
		_, err = etcd.Open(context.Background(), o)
		if !errors.Is(err, syscall.EADDRINUSE) || strings.Count(err.Error(), "address already in use") != 1 {
			t.Errorf("%s: %v; want that the address is in use, once", name, err)
		}
	}
	log.mustBeCalm(t, "the error says it")
}
