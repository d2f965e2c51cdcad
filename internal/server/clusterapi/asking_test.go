package clusterapi

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/store"
)

// heldLeases counts the requested leases, and grants none until it is opened.
type heldLeases struct {
	asked chan struct{}
	open  chan struct{}
	of    leases
}

type leases interface {
	Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error)
	Revoke(ctx context.Context, id store.LeaseID) error
}

func (l heldLeases) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	l.asked <- struct{}{}
	<-l.open
	return l.of.Grant(ctx, ttl)
}

func (l heldLeases) Revoke(ctx context.Context, id store.LeaseID) error { return l.of.Revoke(ctx, id) }

// TestQueriesAtOnce: however many ask in one moment, and however slow the store is, few queries are made. An access
// token has a part of them; others have the rest.
func TestQueriesAtOnce(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.installed()
		held := heldLeases{asked: make(chan struct{}, 100), open: make(chan struct{}), of: h.handler.Leases}
		h.handler.Leases = held
		var all []*asking
		for _, token := range []string{"ci", "shop", ""} {
			for range 30 {
				all = append(all, h.askAs(h.ctx, token))
			}
			synctest.Wait()
		}
		if len(held.asked) != maxQueries {
			t.Errorf("%d queries are made of %d, at most %d", len(held.asked), len(all), maxQueries)
		}
		close(held.open)
		synctest.Wait()
		open := map[string]int{}
		for i, a := range all {
			select {
			case <-a.done:
				var got *api.Problem
				if !errors.As(a.err, &got) || got.Status != http.StatusTooManyRequests || got.Next == "" {
					t.Errorf("%v, want 429", a.err)
				}
			default:
				open[[]string{"ci", "shop", "own"}[i/30]]++
			}
		}
		if open["ci"] != 2 || open["shop"] != 2 || open["own"] != 4 || len(h.snapshot().ClusterQueries("east")) != 8 {
			t.Errorf("open are %v, and %d in the store", open, len(h.snapshot().ClusterQueries("east")))
		}
		for _, a := range all {
			<-a.done
		}
		again := h.askAs(h.ctx, "ci") // all have left their places
		synctest.Wait()
		select {
		case <-again.done:
			t.Error("refused although nobody waits:", again.err)
		default:
		}
		<-again.done
	})
}

func (h *harness) askAs(ctx context.Context, token string) *asking {
	a := &asking{done: make(chan struct{})}
	go func() {
		_, a.err = h.handler.Ask(ctx, token, instance("cloud", 1).Ref(), pull.Query{})
		close(a.done)
	}()
	return a
}
