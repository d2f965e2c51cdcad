package session_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/nodeapi"
	"tend.dev/tend/internal/nodeapi/session"
)

// breakable is a connection that loses everything once it is broken, and never says so.
type breakable struct {
	net.Conn
	broken *sync.Map
}

// Write implements net.Conn.
func (b breakable) Write(p []byte) (int, error) {
	if _, broken := b.broken.Load("both"); broken {
		return len(p), nil
	}
	return b.Conn.Write(p)
}

// TestASilentConnection is given up by both ends: a machine that lost its power says nothing.
func TestASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fleet nodeapi.Fleet
		var broken sync.Map
		here, there := net.Pipe()
		ended := goes(func() error { return session.Attach(&fleet, "n1", breakable{here, &broken}) })
		served := goes(func() error {
			session.Serve(context.Background(), breakable{there, &broken}, named("a"), nil, quiet)
			return nil
		})
		time.Sleep(time.Hour)
		if got := fleet.Connected(); len(got) != 1 {
			t.Error("a connection on which nothing happens is given up")
		}
		broken.Store("both", true)
		time.Sleep(time.Minute)
		if got := fleet.Connected(); len(got) != 0 {
			t.Errorf("still connected after a minute of silence: %v", got)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-served
	})
}
