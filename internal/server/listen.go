package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tend.dev/tend/internal/platform/portowner"
)

// The errors of listening. Each is wrapped with the address and the next step.
var (
	// ErrInUse: another server answers there.
	ErrInUse = errors.New("another server is running there")
	// ErrNotLoopback: an address that others could reach.
	ErrNotLoopback = errors.New("a listener beyond loopback demands TLS")
)

// maxSocketPath is the kernel's limit, less the length of the temporary suffix.
const maxSocketPath = 107 - 12

// ListenUnix listens on a unix socket with the given mode. It replaces the socket of a dead server and refuses a live
// one. It sets the permissions before the name, so that no other user can connect at any moment.
func ListenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("listen on %s: a socket's path has at most %d characters: choose a shorter --root",
			path, maxSocketPath)
	}
	if err := checkSocket(path); err != nil {
		return nil, err
	}
	temp := path + "." + strconv.Itoa(os.Getpid())
	_ = os.Remove(temp)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(temp, mode), os.Rename(temp, path)); err != nil {
		listener.Close()
		os.Remove(temp)
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	own, err := os.Lstat(path)
	if err != nil {
		listener.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return &socket{UnixListener: listener, path: path, own: own}, nil
}

// checkSocket returns an error unless a path is free to listen on.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", path, err)
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("listen on %s: a file that isn't a socket is in the way: move it", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return fmt.Errorf("listen on %s: %w: stop it, or choose another --root", path, ErrInUse)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		// The server may be alive and too busy to accept, so its socket must not be replaced.
		return fmt.Errorf("listen on %s: %w (%w): stop it, or remove the socket", path, ErrInUse, err)
	}
	return nil
}

// socket removes its file when it closes, unless another server has replaced it.
type socket struct {
	*net.UnixListener
	path string
	own  fs.FileInfo
	once sync.Once
}

func (l *socket) Close() error {
	l.once.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.own) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}

func (l *socket) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// ListenLoopback listens on a TCP address that only this machine can reach.
func ListenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w: use address:port, as in 127.0.0.1:8686", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %s: %w: use 127.0.0.1; other machines reach the server by --listen, or its unix socket over SSH", address, ErrNotLoopback)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, portowner.Refused(address, "--http", err)
	}
	return listener, nil
}
