package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store/eventlog"
)

// TestEventsAreFollowedOverRestarts follows the log of a server on a real etcd, which is stopped and started again
// while people write: the follower gets every write that was answered, once and in order, as the log has them.
func TestEventsAreFollowedOverRestarts(t *testing.T) {
	m := newMachine(t)
	onEtcd := func(o *Options) { o.Store = nil }
	running := m.startWith(onEtcd).ready()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	follower := follow(ctx, t, running.client)
	answered := map[string]bool{}
	for lap := range 3 {
		for i := range 15 {
			answered[applyJob(ctx, t, running.client, fmt.Sprintf("j%d", i%5), lap*100+i)] = true
		}
		if err := running.stop(); err != nil {
			t.Fatal(err)
		}
		running = m.startWith(onEtcd).ready()
	}
	last := applyJob(ctx, t, running.client, "last", 1)
	got := follower(last)
	seen := map[string]bool{}
	for i, e := range got {
		revision, _, _ := strings.Cut(e.ID, ".")
		seen[revision] = true
		if i > 0 && order(t, got[i-1].ID, e.ID) >= 0 {
			t.Errorf("%s came after %s", e.ID, got[i-1].ID)
		}
	}
	for revision := range answered {
		if !seen[revision] {
			t.Errorf("the write of revision %s has no event", revision)
		}
	}
	kept := list(ctx, t, running.client, client.EventOptions{Since: "oldest", Limit: 20})
	kept = kept[:slices.IndexFunc(kept, func(e api.Event) bool { return strings.HasPrefix(e.ID, last+".") })+1]
	if len(kept) != len(got) || !slices.EqualFunc(kept, got, func(a, b api.Event) bool { return a.ID == b.ID }) {
		t.Errorf("the log has %d events and the follower got %d", len(kept), len(got))
	}
}

// follow collects events in the background until one of a revision arrives.
func follow(ctx context.Context, t *testing.T, c *client.Client) (until func(revision string) []api.Event) {
	got, fault := make(chan api.Event, 10_000), make(chan error, 1)
	events := c.Events(ctx, client.EventOptions{Since: "oldest"})
	t.Cleanup(events.Close)
	go func() {
		for {
			e, err := events.Next()
			if err != nil {
				fault <- err
				return
			}
			got <- e
		}
	}()
	return func(revision string) []api.Event {
		var out []api.Event
		for {
			select {
			case e := <-got:
				if out = append(out, e); strings.HasPrefix(e.ID, revision+".") {
					return out
				}
			case err := <-fault:
				t.Fatalf("after %d events: %v", len(out), err)
			}
		}
	}
}

func order(t *testing.T, a, b string) int {
	t.Helper()
	first, errA := eventlog.ParsePosition(a)
	second, errB := eventlog.ParsePosition(b)
	if err := cmp.Or(errA, errB); err != nil {
		t.Fatal(err)
	}
	return first.Compare(second)
}

func list(ctx context.Context, t *testing.T, c *client.Client, opts client.EventOptions) []api.Event {
	t.Helper()
	var out []api.Event
	for {
		page, err := c.ListEvents(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Events...)
		if !page.More {
			return out
		}
		opts.Since = page.Next
	}
}

// applyJob applies a job and returns the revision that the server answered.
func applyJob(ctx context.Context, t *testing.T, c *client.Client, name string, retries int) string {
	t.Helper()
	spec, _ := json.Marshal(map[string]any{"image": "web:1", "retries": retries % 10,
		"env": map[string]string{"N": strconv.Itoa(retries)}})
	result, err := c.Apply(ctx, api.ApplyRequest{Objects: []api.Object{{Kind: api.KindJob, Scope: "s",
		Name: name, Spec: spec}}})
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(result.Revision, 10)
}

// TestEventsBeyondTheRetentionAreGone trims the log of a server, and reads what it no longer has.
func TestEventsBeyondTheRetentionAreGone(t *testing.T) {
	m := newMachine(t)
	running := m.startWith(func(o *Options) { o.Events = eventlog.Retention{Count: 10} }).ready()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	first := applyJob(ctx, t, running.client, "a", 1)
	for i := range 30 {
		applyJob(ctx, t, running.client, "a", i+2)
	}
	running.stop()
	running = m.startWith(func(o *Options) { o.Events = eventlog.Retention{Count: 10} }).ready()
	var err error
	running.untilWithin(patience, "the log is trimmed", func() bool {
		_, err = running.client.ListEvents(ctx, client.EventOptions{Since: first})
		return client.IsGone(err)
	})
	if !strings.Contains(err.Error(), "since=") {
		t.Errorf("reading after %s: %v", first, err)
	}
	events := running.client.Events(ctx, client.EventOptions{Since: first})
	defer events.Close()
	if _, err := events.Next(); !client.IsGone(err) {
		t.Errorf("following after %s: %v", first, err)
	}
	if kept := list(ctx, t, running.client, client.EventOptions{Since: "oldest"}); len(kept) == 0 || len(kept) > 40 {
		t.Errorf("the log has %d events", len(kept))
	}
}
