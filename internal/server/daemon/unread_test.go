package daemon

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store"
)

// unread is a store whose listing of everything, with which a server begins, waits.
type unread struct {
	store.Store
	until <-chan struct{}
}

func (u unread) Close() error { return nil }

func (u unread) List(ctx context.Context, prefix string, opts store.ListOptions) (store.Page, error) {
	if prefix == "" {
		select {
		case <-u.until:
		case <-ctx.Done():
			return store.Page{}, ctx.Err()
		}
	}
	return u.Store.List(ctx, prefix, opts)
}

// TestNothingIsAnsweredBeforeTheStoreIsRead: a restarted server that hasn't read its store yet knows neither the
// removed machines nor the owners of names. So it answers no machine: a removed one gets nothing, and no name is taken
// over.
func TestNothingIsAnsweredBeforeTheStoreIsRead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	r := m.startWith(func(o *Options) { o.NodeListen = "127.0.0.1:0" }).ready()
	token, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{Uses: 3})
	if err != nil {
		t.Fatal(err)
	}
	honest, err := joins(t, token, "worker")
	if err != nil {
		t.Fatal(err)
	}
	its, err := r.client.JoinToken(t.Context(), api.JoinTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	hostile, err := joins(t, its, "evil")
	if err != nil {
		t.Fatal(err)
	}
	if err := says(t, honest, "report", `{"node":{"id":"worker","ready":true,"runtime":"docker"}}`); err != nil {
		t.Fatal(err)
	}
	if err := says(t, honest, "alive?ttl=30s", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.RemoveNode(t.Context(), "evil", client.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	token.Address = listener.Addr().String()
	honest.Server, hostile.Server = "https://"+token.Address, "https://"+token.Address
	until := make(chan struct{})
	m.startWith(func(o *Options) { o.Nodes, o.Store = listener, unread{m.store, until} })
	const why = "has not read its store yet"
	session := keepsSession(t, hostile)
	done := make(chan struct{})
	for _, path := range []string{"alive", "report", "renew", "referred"} {
		go func() {
			defer func() { done <- struct{}{} }()
			if err := says(t, hostile, path, `1`); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s of a node that was removed: %v", path, err)
			}
		}()
	}
	go func() {
		defer func() { done <- struct{}{} }()
		if _, err := joins(t, token, "worker"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("joins under the name of another: %v", err)
		}
	}()
	for range 5 {
		<-done
	}
	select {
	case <-session:
	case <-time.After(time.Minute):
		t.Error("the session of a node that was removed is open")
	}
	close(until)
	if err := says(t, hostile, "alive", `1`); err == nil || !strings.Contains(err.Error(), "removed from the cluster") {
		t.Errorf("the node that was removed, afterwards: %v", err)
	}
	if err := asks(t, honest); err != nil {
		t.Errorf("the other, afterwards: %v", err)
	}
	if _, err := joins(t, token, "worker"); err == nil || !strings.Contains(err.Error(), "connected already") {
		t.Errorf("joins under the name of another, afterwards: %v", err)
	}
}
