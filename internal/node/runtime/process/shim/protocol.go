package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// The runtime and the shim exchange one JSON object per line over the folder's socket. The runtime sends one request
// per connection. The shim closes all connections when it ends.

// request is a request of the runtime.
type request struct {
	// Watch requests events until the connection ends.
	Watch bool `json:"watch,omitempty"`
	// Stop requests the stop signal, and SIGKILL after Grace. The answer comes when the program has ended.
	Stop  bool          `json:"stop,omitempty"`
	Grace time.Duration `json:"grace,omitempty"`
}

// Message is a message of a shim.
type Message struct {
	// Ready is set once the first start is over. If it failed, Error is the reason.
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
	// Reason is the reason of the failure as a CamelCase word, and Next the step that helps.
	Reason string `json:"reason,omitempty"`
	Next   string `json:"next,omitempty"`
	// Stopped answers a stop.
	Stopped bool `json:"stopped,omitempty"`
	// Watching answers a watch. From now on the connection gets all events.
	Watching bool `json:"watching,omitempty"`

	Event    runtime.EventKind `json:"event,omitempty"`
	Signal   string            `json:"signal,omitempty"`
	ExitCode int               `json:"exitCode,omitempty"`
	At       time.Time         `json:"at,omitzero"`
}

// ErrRunning means that the container already has a shim.
var ErrRunning = errors.New("the container has a shim already")

// ErrGone means that no shim answers for the container.
var ErrGone = errors.New("the container's shim does not answer")

// Conn is a connection to a shim.
type Conn struct {
	conn    net.Conn
	decoder *json.Decoder
}

// NewConn returns a Conn over the other end of a connection that a shim inherited.
func NewConn(conn net.Conn) *Conn { return &Conn{conn: conn, decoder: json.NewDecoder(conn)} }

// Next waits for a message. It fails when the shim ends.
func (c *Conn) Next() (Message, error) {
	var message Message
	err := c.decoder.Decode(&message)
	return message, err
}

// Close ends the connection, and a Next that waits.
func (c *Conn) Close() error { return c.conn.Close() }

// Watch connects to a folder's shim for its events. It returns only after the shim has confirmed, so no later event is
// missed.
func Watch(dir string) (*Conn, error) {
	conn, err := ask(dir, request{Watch: true})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Next(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrGone, err), conn.Close())
	}
	return conn, nil
}

// Stop asks a folder's shim to end its program. The connection gets a message when that is done.
func Stop(dir string, grace time.Duration) (*Conn, error) {
	return ask(dir, request{Stop: true, Grace: grace})
}

func ask(dir string, what request) (*Conn, error) {
	var conn net.Conn
	err := atShortPath(dir, func(path string) (err error) {
		conn, err = net.DialTimeout("unix", path, 5*time.Second)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err := json.NewEncoder(conn).Encode(what); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrGone, err), conn.Close())
	}
	return NewConn(conn), nil
}

// atShortPath calls f with a path to the folder's socket that the kernel accepts, however deep the folder is: the path
// of a socket may have at most 107 bytes.
func atShortPath(dir string, f func(path string) error) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return f(filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), socketFile))
}
