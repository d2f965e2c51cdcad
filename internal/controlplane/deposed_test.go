package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/view"
	"tend.dev/tend/internal/verbs"
)

// TestADeposedServerAppliesNothing: what controllers apply, prune and delete by the verbs, as syncs do, goes through their
// term. Once another server has the controllers nothing of it is stored, while what users ask of the same server is.
func TestADeposedServerAppliesNothing(t *testing.T) {
	s, quiet := memory.New(), slog.New(slog.DiscardHandler)
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = v.Run(ctx) })
	defer func() { cancel(); running.Wait(); _ = s.Close() }()
	<-v.Synced()
	service := verbs.New(verbs.Options{Store: s, Reader: verbs.FromView{Store: s, View: v}, Logger: quiet})
	term, err := Begin(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	web := api.Object{Kind: api.KindIngress, Scope: "shop", Name: "web", Spec: json.RawMessage(`{"host":"a.example"}`)}
	other := web
	other.Name, other.Spec = "other", json.RawMessage(`{"host":"b.example"}`)
	through := verbs.ApplyOptions{Through: term, Set: "sync:shop/uid", Prune: true}
	if _, err := service.Apply(ctx, []api.Object{web}, through); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(ctx, s); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Apply(ctx, []api.Object{other}, through); !errors.Is(err, ErrDeposed) {
		t.Errorf("an apply that prunes answered %v", err)
	}
	if _, err := service.DeleteWith(ctx, verbs.TargetOf(web.Ref()), verbs.DeleteOptions{Through: term}); !errors.Is(err, ErrDeposed) {
		t.Errorf("a deletion answered %v", err)
	}
	there := func(object api.Object) bool {
		_, err := s.Get(ctx, records.ObjectKey(object.Ref()))
		return err == nil
	}
	if !there(web) || there(other) {
		t.Errorf("it deleted %v, it applied %v", !there(web), there(other))
	}
	if _, err := service.Apply(ctx, []api.Object{other}, verbs.ApplyOptions{}); err != nil || !there(other) {
		t.Errorf("a user's apply: %v", err)
	}
}
