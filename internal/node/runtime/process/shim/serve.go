//go:build linux

package shim

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// listener accepts connections of runtimes. It passes their stops to the supervisor, and sends them events.
type listener struct {
	listener net.Listener
	stops    chan stopRequest
	mu       sync.Mutex
	watchers map[net.Conn]struct{}
}

// stopRequest is a runtime's request to stop. done is called once the program has ended.
type stopRequest struct {
	grace time.Duration
	done  func()
}

// listenAt listens in the folder. The folder's mode, 0700, protects the socket.
func listenAt(dir string) (*listener, error) {
	_ = os.Remove(filepath.Join(dir, socketFile))
	d := &listener{stops: make(chan stopRequest), watchers: map[net.Conn]struct{}{}}
	err := atShortPath(dir, func(path string) (err error) {
		d.listener, err = net.Listen("unix", path)
		return err
	})
	if err != nil {
		return nil, err
	}
	go d.accept()
	return d, nil
}

// acceptPause is the pause after a failed accept.
const acceptPause = 200 * time.Millisecond

// accept accepts connections until the listener is closed. Other errors pass, such as too many open files in the whole
// system: without the socket nothing could stop the program any more.
func (d *listener) accept() {
	for {
		conn, err := d.listener.Accept()
		switch {
		case err == nil:
			go d.serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			<-time.After(acceptPause)
		}
	}
}

func (d *listener) serve(conn net.Conn) {
	var what request
	if err := json.NewDecoder(io.LimitReader(conn, 1<<10)).Decode(&what); err != nil {
		_ = conn.Close()
		return
	}
	switch {
	case what.Watch:
		d.admit(conn, Message{Watching: true})
	case what.Stop:
		d.stops <- stopRequest{grace: what.Grace, done: func() {
			say(conn, Message{Stopped: true})
			_ = conn.Close()
		}}
	default:
		_ = conn.Close()
	}
}

// admit adds a watcher, and sends it hello first.
func (d *listener) admit(conn net.Conn, hello Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	say(conn, hello)
	d.watchers[conn] = struct{}{}
}

// notify sends a message to every watcher. A watcher that doesn't take it within 100 ms is disconnected.
func (d *listener) notify(message Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn := range d.watchers {
		if !say(conn, message) {
			_ = conn.Close()
			delete(d.watchers, conn)
		}
	}
}

func say(conn net.Conn, message Message) bool {
	_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	return json.NewEncoder(conn).Encode(message) == nil
}
