package server_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/server"
)

func TestListenUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tend.sock")
	listener, err := server.ListenUnix(path, 0o660)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("socket is %v, %v; want mode 0660", info, err)
	}
	if _, err := server.ListenUnix(path, 0o660); !errors.Is(err, server.ErrInUse) {
		t.Errorf("a second server: %v, want ErrInUse", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket stayed: %v", err)
	}
}

func TestListenUnixReplacesADeadServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tend.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	listener, err := server.ListenUnix(path, 0o600)
	if err != nil {
		t.Fatalf("the socket of a dead server is in the way: %v", err)
	}
	listener.Close()

	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ListenUnix(path, 0o600); err == nil {
		t.Error("a file was replaced by a socket")
	}
	if content, _ := os.ReadFile(path); string(content) != "precious" {
		t.Error("the file is gone")
	}
}

func TestListenUnixLongPath(t *testing.T) {
	_, err := server.ListenUnix("/tmp/"+strings.Repeat("x", 120), 0o600)
	if err == nil || !strings.Contains(err.Error(), "--root") {
		t.Errorf("got %v, want an error with the next step", err)
	}
}

func TestListenLoopback(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		listener, err := server.ListenLoopback(address)
		if !errors.Is(err, server.ErrNotLoopback) {
			t.Errorf("%s: %v, want ErrNotLoopback", address, err)
		}
		if listener != nil {
			listener.Close()
		}
	}
	if _, err := server.ListenLoopback("nonsense"); err == nil {
		t.Error("nonsense was taken for an address")
	}
	first, err := server.ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := server.ListenLoopback(first.Addr().String()); err == nil || !strings.Contains(err.Error(), "--http") ||
		!strings.Contains(err.Error(), fmt.Sprintf("by server.test (pid %d)", os.Getpid())) {
		t.Errorf("a taken port: %v, want an error with who has it and the next step", err)
	}
}
