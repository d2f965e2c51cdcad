package server_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/server"
	"tend.dev/tend/internal/store/records"
)

// TestReadsAreFresh: a read waits for the changes of other servers. If it can't establish that it has them, the answer
// is marked stale.
func TestReadsAreFresh(t *testing.T) {
	var asked atomic.Int64
	var fresh atomic.Pointer[func(context.Context) error]
	w := newWorld(t, func(o *server.Options) {
		o.Fresh = func(ctx context.Context) error { asked.Add(1); return (*fresh.Load())(ctx) }
	})
	behaves := func(does func(context.Context) error) { fresh.Store(&does) }
	behaves(func(context.Context) error { return nil })
	w.apply("web", `{"image":"a"}`)
	const path = "/v1/objects/deployment/prod/web"
	behaves(func(context.Context) error {
		object := deployment("web", `{"image":"b"}`)
		object.Metadata.UID = "1"
		w.put(records.ObjectKey(object.Ref()), object)
		return nil
	})
	if response, body := w.raw("GET", path, "", ""); response.Header.Get(api.HeaderStale) != "" ||
		!strings.Contains(body, `"image":"b"`) {
		t.Errorf("%q, %s", response.Header.Get(api.HeaderStale), body)
	}
	for _, test := range []struct {
		does func(context.Context) error
		want string
	}{
		{func(context.Context) error { return errors.New("no\nquorum") }, "no quorum"},
		{func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "the store did not answer within 1s"},
	} {
		behaves(test.does)
		response, body := w.raw("GET", path, "", "")
		if got := response.Header.Get(api.HeaderStale); response.StatusCode != http.StatusOK || got != test.want {
			t.Errorf("%q, want %q: %s", got, test.want, body)
		}
	}
	before := asked.Load()
	for _, other := range []string{"/v1/pods/prod-web.0a/ready", "/v1/servers", "/healthz", "/v1/blobs/sha256:0"} {
		w.raw("GET", other, "", "")
	}
	if asked.Load() != before {
		t.Error("what isn't read from the view waits for it")
	}
}

// TestTheMarkOfAPauseIsFresh: a read through one server after another has begun or ended the pause.
func TestTheMarkOfAPauseIsFresh(t *testing.T) {
	for before, after := range map[string]string{"it was restored": "", "": "it was restored"} {
		var fresh atomic.Bool
		w := newWorld(t, func(o *server.Options) {
			o.Fresh = func(context.Context) error { fresh.Store(true); return nil }
			o.Paused = func() string {
				if fresh.Load() {
					return after
				}
				return before
			}
		})
		response, _ := w.raw("GET", "/v1/nodes", "", "")
		if got := response.Header.Get(api.HeaderPaused); got != after {
			t.Errorf("after %q: %q, want %q", before, got, after)
		}
	}
}

// TestACommandWaitsOnce: once a read has waited in vain, for whatever reason, the next ones are answered at once with
// that reason.
func TestACommandWaitsOnce(t *testing.T) {
	for want, fails := range map[string]func(context.Context) error{
		"the store did not answer within 1s": context.Context.Err,
		"the store has no quorum":            func(context.Context) error { return errors.New("the store has no quorum") },
	} {
		t.Run(want, func(t *testing.T) {
			var asked atomic.Int64
			w := newWorld(t, func(o *server.Options) {
				o.Fresh = func(ctx context.Context) error { asked.Add(1); <-ctx.Done(); return fails(ctx) }
			})
			for range 16 { // tend get prod/web asks for each kind
				response, _ := w.raw("GET", "/v1/objects/deployment/prod/web", "", "")
				if got := response.Header.Get(api.HeaderStale); got != want {
					t.Errorf("%q, want %q", got, want)
				}
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("it waits %d times", n)
			}
		})
	}
}

// TestAClientHearsOfStaleReads: with the reason.
func TestAClientHearsOfStaleReads(t *testing.T) {
	w := newWorld(t, func(o *server.Options) {
		o.Fresh = func(context.Context) error { return errors.New("cut off") }
	})
	var heard string
	c, err := client.New(client.Options{Server: "unix://" + w.socket, OnStale: func(reason string) { heard = reason }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Nodes(t.Context()); err != nil || heard != "cut off" {
		t.Errorf("%q, %v", heard, err)
	}
}
