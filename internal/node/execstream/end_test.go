package execstream_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/execstream"
	"tend.dev/tend/internal/node/runtime"
)

// slow is a command that takes a while to close.
type slow struct{ stuck }

// Close implements runtime.Exec.
func (s slow) Close() error {
	time.Sleep(time.Second)
	return nil
}

// lent is a connection that may not be used once its owner has taken it back, as the answer to a request.
type lent struct {
	net.Conn
	t     *testing.T
	ended *atomic.Bool
}

// SetWriteDeadline implements net.Conn.
func (l lent) SetWriteDeadline(at time.Time) error {
	if l.ended.Load() {
		l.t.Error("the connection is used after Serve returned")
	}
	return l.Conn.SetWriteDeadline(at)
}

// TestServeLeavesItsConnectionAlone once it has returned: an answer whose handler has returned panics.
func TestServeLeavesItsConnectionAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		_ = there.Close()
		var ended atomic.Bool
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(nil)
		begin := func(context.Context) (runtime.Exec, error) { return slow{stuck{output: strings.NewReader("")}}, nil }
		execstream.Serve(ctx, cancel, over(lent{here, t, &ended}), begin, problemOf)
		ended.Store(true)
		time.Sleep(time.Minute)
	})
}
