//go:build linux

package shim

import (
	"encoding/json"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// accepting is a listener whose accepts end one after another; then it is closed.
type accepting struct {
	net.Listener
	accepts []func() (net.Conn, error)
}

func (a *accepting) Accept() (net.Conn, error) {
	if len(a.accepts) == 0 {
		return nil, net.ErrClosed
	}
	next := a.accepts[0]
	a.accepts = a.accepts[1:]
	return next()
}

// TestAFailedAcceptIsNotTheLast: the program can still be stopped.
func TestAFailedAcceptIsNotTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		d := &listener{stops: make(chan stopRequest, 1), listener: &accepting{accepts: []func() (net.Conn, error){
			func() (net.Conn, error) { return nil, syscall.ENFILE },
			func() (net.Conn, error) { return ours, nil },
		}}}
		go func() { _ = json.NewEncoder(theirs).Encode(request{Stop: true, Grace: time.Second}) }()
		d.accept() // until it is closed
		synctest.Wait()
		select {
		case stop := <-d.stops:
			if stop.grace != time.Second {
				t.Errorf("a stop with a grace period of %s", stop.grace)
			}
		default:
			t.Error("nobody can stop it any more")
		}
	})
}
