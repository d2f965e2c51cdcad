package remote

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
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

// TestAPauseThatBeginsHoldsWhoFollows: a machine that follows when the pause begins is held back too.
func TestAPauseThatBeginsHoldsWhoFollows(t *testing.T) {
	w := nodeapitest.NewWorld(t)
	w.Deploy("a", nodeapitest.Here)
	var paused atomic.Bool
	l := connect(t, w, nodeapitest.Here, func(o *HandlerOptions) {
		o.Paused = func() string {
			if paused.Load() {
				return "a server was started with --paused"
			}
			return ""
		}
	})
	client := New(Options{Server: l.client.server, HTTP: l.client.http, Logger: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 1)
	go func() { ended <- client.Run(t.Context()) }()
	<-client.Synced()
	paused.Store(true)
	if err := <-ended; !errors.Is(err, ErrRestored) {
		t.Error("it ends with", err)
	}
}

// TestAServerThatIsBehindEndsNoClient: one that is cut off doesn't know whether a pause has begun or is over. A client
// that ended there would be followed by one that ends at another server, without an end.
func TestAServerThatIsBehindEndsNoClient(t *testing.T) {
	for name, paused := range map[string]string{"it missed the end of the pause": "restored", "it missed the pause": ""} {
		w := nodeapitest.NewWorld(t)
		var behind atomic.Bool
		l := connect(t, w, nodeapitest.Here, func(o *HandlerOptions) {
			o.Paused = func() string { return paused }
			o.Current = func(context.Context, int64) error {
				if behind.Load() {
					return &api.Problem{Status: http.StatusServiceUnavailable, Title: "Behind", Detail: "no quorum"}
				}
				return nil
			}
		})
		for _, held := range []bool{false, true} {
			behind.Store(true)
			ctx, cancel := context.WithCancel(t.Context())
			moved := make(chan struct{}, 1)
			client := New(Options{Server: l.client.server, HTTP: l.client.http, Held: held,
				Lost:   func(error) { moved <- struct{}{}; <-ctx.Done() },
				Logger: slog.New(slog.DiscardHandler)})
			ended := make(chan error, 1)
			go func() { ended <- client.Run(ctx) }()
			select {
			case <-moved: // to another server
			case err := <-ended:
				t.Errorf("%s: held %v: it ends with %v", name, held, err)
				ended <- nil
			}
			client.revision = 5 // it knows something
			if err := client.Current(t.Context()); another(err) {
				t.Errorf("%s: held %v: it may not answer the server: %v", name, held, err)
			}
			behind.Store(false)
			if err := client.Current(t.Context()); another(err) != (held == (paused == "")) {
				t.Errorf("%s: held %v: at a server that knows: %v", name, held, err)
			}
			cancel()
			<-ended
		}
	}
}

// TestAServerThatLagsEndsNoClient: one that can reach the others, but hasn't read what they stored, catches up before
// it gives an answer that ends a client.
func TestAServerThatLagsEndsNoClient(t *testing.T) {
	for name, held := range map[string]bool{
		"it hasn't read the end of the pause": false, "it hasn't read the pause": true,
	} {
		t.Run(name, func(t *testing.T) {
			w := nodeapitest.NewWorld(t)
			w.Deploy("a", nodeapitest.Here)
			var current atomic.Bool
			l := connect(t, w, nodeapitest.Here, func(o *HandlerOptions) {
				o.Paused = func() string {
					if held == current.Load() {
						return "it was restored"
					}
					return ""
				}
				o.Fresh = func(context.Context) error { current.Store(true); return nil }
			})
			client := New(Options{Server: l.client.server, HTTP: l.client.http, Held: held,
				Logger: slog.New(slog.DiscardHandler)})
			client.revision = 1 // it knows something
			if err := client.Current(t.Context()); err != nil {
				t.Errorf("it may not answer the server: %v", err)
			}
			current.Store(false)
			client.revision = 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- client.Run(ctx) }()
			select {
			case <-client.Synced():
			case err := <-ended:
				t.Fatalf("it ends with %v", err)
			}
			cancel()
			<-ended
		})
	}
}

func another(err error) bool { return errors.Is(err, ErrRestored) || errors.Is(err, ErrResumed) }
