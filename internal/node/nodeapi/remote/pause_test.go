package remote

import (
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"

	"tend.dev/tend/internal/node/nodeapi/nodeapitest"
)

// TestWhoFollowsAPausedServer: a held client does, until the pause is over, and sees what the store has. Another one
// ends, so that a held one takes its place.
func TestWhoFollowsAPausedServer(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	w.Deploy("a", nodeapitest.Here)
	var resumed atomic.Bool
	l := connect(t, w, nodeapitest.Here, func(o *HandlerOptions) {
		o.Paused = func() string {
			if resumed.Load() {
				return ""
			}
			return "it was restored"
		}
	})
	client := func(held bool) *Client {
		return New(Options{Server: l.client.server, HTTP: l.client.http, Held: held, Logger: slog.New(slog.DiscardHandler)})
	}
	if err := client(false).Run(t.Context()); !errors.Is(err, ErrRestored) {
		t.Error("one that isn't held ends with", err)
	}
	held, ended := client(true), make(chan error, 1)
	go func() { ended <- held.Run(t.Context()) }()
	<-held.Synced()
	if tasks := held.Tasks(); !slices.Equal(tasks, []string{"a"}) {
		t.Error("a held one sees", tasks)
	}
	if err := held.Current(t.Context()); err != nil {
		t.Error("a held one may not answer the server:", err)
	}
	resumed.Store(true)
	if err := <-ended; !errors.Is(err, ErrResumed) {
		t.Error("a held one ends with", err)
	}
	if err := held.Current(t.Context()); !errors.Is(err, ErrResumed) {
		t.Error("after the pause it may answer the server:", err)
	}
	if err := client(true).Run(t.Context()); !errors.Is(err, ErrResumed) {
		t.Error("a held one that begins after the pause ends with", err)
	}
}
