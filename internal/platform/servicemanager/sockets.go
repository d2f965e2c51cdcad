package servicemanager

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
)

// own begins the names of sockets that this program had the service manager keep (FDNAME). Others are a socket unit's.
const own = "tend_"

// Sockets are listening sockets that outlive this process: the service manager holds a copy of each, and hands it to
// the next process of the service. Who connects meanwhile waits, instead of being refused. Nil keeps none. Safe for
// concurrent use.
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

// own reports whether this program had it kept.
func (h held) own() bool { return strings.HasPrefix(h.name, own) }

// fits reports whether a socket is the one of an address. A socket unit may open any address for one that names only a
// port; what this program opened for such an address hears all of the machine's.
func (h held) fits(address string) bool {
	host, _, err := net.SplitHostPort(h.address)
	asked, _, _ := net.SplitHostPort(address)
	return fits(address, h.address) && (!h.own() || asked != "" || err == nil && net.ParseIP(host).IsUnspecified())
}

// Inherited returns the sockets that the service manager hands to this process. It takes them out of the environment,
// so that no child believes them its own.
func Inherited(log *slog.Logger) *Sockets { return Handed(log, activation.Files(true)) }

// Handed returns sockets that the service manager holds too, each in a file of its name.
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

// Find returns the socket that has an address such as :80, or nil if there is none. The file stays Sockets'.
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

// Lent reports whether a socket unit keeps an address open, whatever this process does.
func (s *Sockets) Lent(address string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		if h.fits(address) && !h.own() {
			return true
		}
	}
	return false
}

// Keep has the service manager hold a listener that was opened for an address. Where there is none, nothing is held.
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

// Drop ends the sockets of this program that no wanted address fits: from then on their ports are free. The listeners
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
		// The service manager takes its time to close its copy: this ends all of them at once.
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

// DropAddress ends the socket of one address.
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

// fits reports whether a socket's address at is the one that was asked for: the same port, and the same host if one was
// named.
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
