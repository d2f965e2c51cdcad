package servicemanager

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
)

// own is the prefix of the names (FDNAME) of sockets that this program handed to the service manager. Other names
// belong to a socket unit.
const own = "tend_"

// Sockets are listening sockets that outlive this process: the service manager holds a copy of each, and passes it to
// the next process of the service. Clients that connect meanwhile wait, instead of being refused. A nil Sockets keeps
// none. Safe for concurrent use.
type Sockets struct {
	log *slog.Logger

	mu   sync.Mutex
	held []held
}

// held is a socket that the service manager holds too.
type held struct {
	name    string
	address string
	file    *os.File
}

// own reports whether this program handed the socket to the service manager.
func (h held) own() bool { return strings.HasPrefix(h.name, own) }

// fits reports whether a socket serves an address. For an address without a host, a socket unit may open any address of
// the port; a socket that this program opened listens on all addresses.
func (h held) fits(address string) bool {
	host, _, err := net.SplitHostPort(h.address)
	asked, _, _ := net.SplitHostPort(address)
	return fits(address, h.address) && (!h.own() || asked != "" || err == nil && net.ParseIP(host).IsUnspecified())
}

// Inherited returns the sockets that the service manager passes to this process. It removes them from the environment,
// so that no child takes them for its own.
func Inherited(log *slog.Logger) *Sockets { return Handed(log, activation.Files(true)) }

// Handed returns the sockets that the service manager holds too, each in a file with its name.
func Handed(log *slog.Logger, files []*os.File) *Sockets {
	s := &Sockets{log: log}
	for _, file := range files {
		next := held{name: file.Name(), file: file}
		listener, err := net.FileListener(file)
		if err != nil {
			continue
		}
		next.address = listener.Addr().String()
		_ = listener.Close() // a copy: the socket stays open
		s.held = append(s.held, next)
	}
	return s
}

// Find returns the socket that has an address such as :80, or nil. Sockets keeps the file: don't close it.
func (s *Sockets) Find(address string) *os.File {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		if h.fits(address) {
			return h.file
		}
	}
	return nil
}

// Lent reports whether a socket unit keeps an address open, whether or not this process uses it.
func (s *Sockets) Lent(address string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.held, func(h held) bool { return h.fits(address) && !h.own() })
}

// Keep passes a listener that was opened for an address to the service manager. Without a service manager it does
// nothing.
func (s *Sockets) Keep(address string, listener net.Listener) {
	socket, ok := listener.(*net.TCPListener)
	if s == nil || !ok || os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	next := held{name: nameOf(address), address: listener.Addr().String()}
	var err error
	if next.file, err = socket.File(); err == nil {
		err = send("FDSTORE=1\nFDNAME="+next.name, next.file)
	}
	if err != nil {
		s.log.Warn("can't hand a listener to the service manager: a restart of this process refuses connections", "address",
			address, "error", err)
		if next.file != nil {
			_ = next.file.Close()
		}
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, next)
}

// Drop closes the sockets of this program whose address is no longer wanted, which frees their ports. The listeners
// that use them must be closed already.
func (s *Sockets) Drop(wanted func(fits func(address string) bool) bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []held
	for _, h := range s.held {
		if !h.own() || wanted(h.fits) {
			kept = append(kept, h)
			continue
		}
		// Closing the service manager's copy takes time: a shutdown ends all copies at once.
		raw, err := h.file.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
		}
		if err := errors.Join(err, send("FDSTOREREMOVE=1\nFDNAME="+h.name), h.file.Close()); err != nil {
			s.log.Warn("can't end a listener that the service manager keeps", "address", h.address, "error", err)
		}
	}
	s.held = kept
}

// DropAddress closes the socket of one address.
func (s *Sockets) DropAddress(address string) {
	s.Drop(func(fits func(string) bool) bool { return !fits(address) })
}

// nameOf names a socket. sd_pid_notify_with_fds(3) forbids colons.
func nameOf(address string) string { return own + strings.ReplaceAll(address, ":", "_") }

// send sends a message with files to the service manager.
func send(state string, files ...*os.File) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	var rights []byte
	for _, file := range files {
		raw, err := file.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { rights = append(rights, syscall.UnixRights(int(fd))...) })
		}
		if err != nil {
			return err
		}
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var sent error // net.UnixConn sends no files over a connected socket of datagrams
	err = raw.Write(func(fd uintptr) bool {
		sent = syscall.Sendmsg(int(fd), []byte(state), rights, nil, 0)
		return !errors.Is(sent, syscall.EAGAIN)
	})
	return errors.Join(err, sent)
}

// fits reports whether a socket's address matches the requested one: the same port, and the same host if one was named.
func fits(asked, at string) bool {
	askedHost, askedPort, err := net.SplitHostPort(asked)
	if err != nil {
		return false
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil || port != askedPort {
		return false
	}
	return askedHost == "" || askedHost == host ||
		net.ParseIP(askedHost).IsUnspecified() && net.ParseIP(host).IsUnspecified()
}
