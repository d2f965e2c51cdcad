package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"tend.dev/tend/api/pattern"
)

// SSHError reports that ssh ended before the server answered, with its last output.
type SSHError struct{ Host, Said string }

func (e *SSHError) Error() string {
	return fmt.Sprintf("ssh %s: %s", e.Host, e.Said)
}

// The parts of an ssh address. None of them may look like a flag, or like more than one word to the remote shell.
var (
	sshHost = pattern.Lazy(`^[A-Za-z0-9_:][A-Za-z0-9_.:%-]*$`)
	sshUser = pattern.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)
	sshPath = pattern.Lazy(`^/[A-Za-z0-9_./@+-]+$`)
)

// sshArgs returns the arguments of ssh for an address such as ssh://user@host:22; a path is that of the server's
// socket.
func sshArgs(address *url.URL) ([]string, error) {
	host, user := address.Hostname(), address.User.Username()
	_, password := address.User.Password()
	if !sshHost().MatchString(host) || user != "" && !sshUser().MatchString(user) || password || address.RawQuery != "" {
		return nil, fmt.Errorf("server %q: use ssh://user@host, or ssh://user@host:port; keys are ssh's own affair",
			address.Redacted())
	}
	args := []string{"-T", "-o", "ServerAliveInterval=15"}
	if port := address.Port(); port != "" {
		args = append(args, "-p", port)
	}
	if user != "" {
		args = append(args, "-l", user)
	}
	args = append(args, "--", host, "tend")
	if path := strings.TrimSuffix(address.Path, "/"); path != "" {
		if !sshPath().MatchString(path) {
			return nil, fmt.Errorf("server %q: the path is that of the server's socket", address)
		}
		args = append(args, "--server", "unix://"+path)
	}
	return append(args, "dial-stdio"), nil
}

// sshDialer connects through `ssh HOST tend dial-stdio`: users with a login there may call the server, and no port is
// open.
func sshDialer(address *url.URL) (func(context.Context, string, string) (net.Conn, error), error) {
	args, err := sshArgs(address)
	if err != nil {
		return nil, err
	}
	return func(context.Context, string, string) (net.Conn, error) {
		command := exec.Command("ssh", args...) //nolint:noctx // lives as long as the connection, not the dial
		c := &sshConn{command: command, host: address.Host, ended: make(chan struct{})}
		command.Stderr = &c.said
		var in, out error
		c.in, in = command.StdinPipe()
		c.out, out = command.StdoutPipe()
		if err := errors.Join(in, out); err != nil {
			return nil, err
		}
		command.WaitDelay = lingering
		if err := command.Start(); err != nil {
			return nil, &SSHError{Host: address.Host, Said: err.Error()}
		}
		return c, nil
	}, nil
}

// lingering bounds how long a process that ssh left behind, such as a proxy, may hold its stderr.
const lingering = time.Second

// sshConn is a connection over the input and output of an ssh.
type sshConn struct {
	command *exec.Cmd
	host    string
	in      io.WriteCloser
	out     io.ReadCloser
	said    lastWords
	once    sync.Once
	ended   chan struct{}
	fault   error
}

// Read turns the end of a failed ssh into an SSHError.
func (c *sshConn) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if err == nil || n > 0 {
		return n, nil
	}
	c.wait()
	if c.fault != nil {
		return 0, c.fault
	}
	return 0, io.EOF
}

// Write turns the end of a failed ssh into an SSHError. Either of Write and Read may notice the end first; Read learns
// the cause, since everything before the end must be read first.
func (c *sshConn) Write(p []byte) (int, error) {
	n, err := c.in.Write(p)
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) { // closed: Read noticed first
		return n, err
	}
	select {
	case <-c.ended:
		if c.fault != nil {
			err = c.fault
		}
	case <-time.After(2 * lingering): // nobody reads, or ssh closed its input but runs on
	}
	return n, err
}

// Close ends the ssh.
func (c *sshConn) Close() error {
	_ = c.in.Close()
	_ = c.command.Process.Kill() // it may have ended
	c.wait()
	return nil
}

func (c *sshConn) wait() {
	c.once.Do(func() {
		err := c.command.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			c.fault = &SSHError{Host: c.host, Said: c.said.or(exit.String())}
		}
		close(c.ended)
	})
	<-c.ended
}

// LocalAddr, RemoteAddr and the deadlines implement net.Conn; an ssh process has no addresses and no deadlines.
func (c *sshConn) LocalAddr() net.Addr { return sshAddr("here") }

// RemoteAddr returns the host.
func (c *sshConn) RemoteAddr() net.Addr { return sshAddr(c.host) }

// SetDeadline does nothing.
func (c *sshConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *sshConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *sshConn) SetWriteDeadline(time.Time) error { return nil }

type sshAddr string

// Network returns "ssh".
func (sshAddr) Network() string { return "ssh" }

func (a sshAddr) String() string { return string(a) }

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const maxLastWords = 1 << 10

// Write never fails.
func (w *lastWords) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if over := len(w.text) - maxLastWords; over > 0 {
		w.text = bytes.Clone(w.text[over:])
	}
	return len(p), nil
}

func (w *lastWords) or(other string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := strings.TrimSpace(strings.ToValidUTF8(string(w.text), "?")); text != "" {
		return text
	}
	return other
}
