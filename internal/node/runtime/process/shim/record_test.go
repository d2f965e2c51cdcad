//go:build linux

package shim

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/node/runtime"
)

// TestRecord: a record is read back as written. Only its owner can read the file, and nothing else is left in the
// folder.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	want := Record{ID: "1", Name: "a", CreatedAt: time.Unix(1, 2).UTC(), Program: Program{
		Path: "/x", Args: []string{"x"}, Env: []string{"SECRET=1"}, User: &User{UID: 1, Groups: []uint32{2}},
		Limits: map[string][2]uint64{"nofile": {1, 2}},
	}}
	if err := WriteRecord(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the record and its copy
		t.Fatalf("left %v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := ReadRecord(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no record: %v", err)
	}
}

// TestStatusOfTheLost: the status of a shim that is gone is corrected, marked as abandoned, and can be saved.
func TestStatusOfTheLost(t *testing.T) {
	dir := t.TempDir()
	started := time.Now().Add(-time.Hour)
	gone := Identity{PID: 1 << 30, Start: 1, Boot: bootID()}
	said := Status{Shim: gone, State: runtime.StateRunning, PID: gone.PID, StartedAt: started}
	if err := writeJSON(dir, statusFile, said); err != nil {
		t.Fatal(err)
	}
	found, err := ReadStatus(dir)
	if err != nil {
		t.Fatal(err)
	}
	corrected := found.Abandoned && found.State == runtime.StateExited && found.ExitCode == 137 && found.PID == 0
	if !corrected || !found.FinishedAt.After(started) {
		t.Errorf("found %+v", found)
	}
	if err := SaveEnd(dir, found); err != nil {
		t.Fatal(err)
	}
	again, err := ReadStatus(dir)
	if err != nil || again.Abandoned || again.ExitCode != 137 || !again.FinishedAt.Equal(found.FinishedAt) {
		t.Errorf("written down: %+v, %v", again, err)
	}
}

// TestSocketOfADeepFolder: the path of a folder may be longer than a socket's path can be.
func TestSocketOfADeepFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := listenAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.listener.Close()
	conn, err := Watch(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	listener.notify(Message{Event: runtime.EventStart})
	if message, err := conn.Next(); err != nil || message.Event != runtime.EventStart {
		t.Errorf("message %+v, %v", message, err)
	}
	stop, err := Stop(dir, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer stop.Close()
	request := <-listener.stops
	request.done()
	if message, err := stop.Next(); err != nil || !message.Stopped || request.grace != time.Second {
		t.Errorf("answer %+v to %+v, %v", message, request, err)
	}
}

// TestNoShim: a folder without a shim answers ErrGone.
func TestNoShim(t *testing.T) {
	if _, err := Watch(t.TempDir()); !errors.Is(err, ErrGone) {
		t.Errorf("watch: %v", err)
	}
}

func TestSignalNames(t *testing.T) {
	for number, want := range map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", 40: "40"} {
		if got := signalName(number); got != want {
			t.Errorf("signal %d is %s, want %s", number, got, want)
		}
	}
}
