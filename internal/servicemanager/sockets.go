package ingress

import (
	"net"
	"os"
	"strconv"
)

// firstInherited is the first file descriptor that a service manager passes (sd_listen_fds).
const firstInherited = 3

// Inherited returns the sockets that a service manager opened for this process and keeps open while it is restarted:
// who connects meanwhile waits, instead of being refused. It takes them out of the environment, so that no child
// believes them its own.
func Inherited() []*os.File {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	n, err := strconv.Atoi(count)
	if pid != strconv.Itoa(os.Getpid()) || err != nil {
		return nil
	}
	var out []*os.File
	for fd := firstInherited; fd < firstInherited+n; fd++ {
		keepToOneself(fd)
		out = append(out, os.NewFile(uintptr(fd), "inherited"))
	}
	return out
}

// inherited returns the socket that has the listener's address, or nil if there is none. The caller need not hold mu.
func (d *listener) inherited() *os.File {
	for _, file := range d.Sockets {
		listener, err := net.FileListener(file)
		if err != nil {
			continue
		}
		at := listener.Addr().String()
		_ = listener.Close() // a copy: the socket stays open
		if fits(d.asked, at) {
			return file
		}
	}
	return nil
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
	return askedHost == "" || askedHost == host || net.ParseIP(askedHost).IsUnspecified() && net.ParseIP(host).IsUnspecified()
}
