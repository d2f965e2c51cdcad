package ingress

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// firstTime is the time in which the first request of a connection must arrive once its listener closes.
const firstTime = 500 * time.Millisecond

// newcomers are the connections of a listener whose first request wasn't answered yet. When a listener closes, that
// request is most likely on its way, and http.Server.Shutdown would drop it.
type newcomers struct {
	count atomic.Int64 // length of waiting; most requests are made while it is 0

	mu      sync.Mutex
	waiting map[net.Conn]bool // the value is set once the request has arrived
	none    chan struct{}     // closed once waiting is empty; nil while nothing waits for that
}

// note tracks a connection; it is used as http.Server.ConnState.
func (n *newcomers) note(conn net.Conn, state http.ConnState) {
	if state != http.StateNew && n.count.Load() == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.waiting[conn]
	switch {
	case state == http.StateNew:
		n.waiting[conn] = false
	case known && state == http.StateActive:
		n.waiting[conn] = true
	case known:
		delete(n.waiting, conn)
		if len(n.waiting) == 0 && n.none != nil {
			close(n.none)
			n.none = nil
		}
	}
	n.count.Store(int64(len(n.waiting)))
}

// conclude waits up to firstTime until there are no newcomers, and closes those that sent nothing until then.
func (n *newcomers) conclude() {
	n.mu.Lock()
	none := make(chan struct{})
	if len(n.waiting) == 0 {
		close(none)
	} else {
		n.none = none
	}
	n.mu.Unlock()
	limit := time.NewTimer(firstTime)
	defer limit.Stop()
	select {
	case <-none:
	case <-limit.C:
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn, came := range n.waiting {
		if !came {
			_ = conn.Close()
		}
	}
}
