package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// lostTerm refuses every commit, as the term of a server that lost the controllers does.
type lostTerm struct{}

func (lostTerm) Commit(context.Context, store.Txn) (int64, error) { return 0, controlplane.ErrDeposed }

// TestTheAutoscalerCommitsThroughItsTerm: of a server that lost the controllers no step is stored, and the error isn't
// that of a deployment that was changed meanwhile.
func TestTheAutoscalerCommitsThroughItsTerm(t *testing.T) {
	s, quiet := memory.New(), slog.New(slog.DiscardHandler)
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	defer func() { cancel(); <-ended; _ = s.Close() }()
	<-v.Synced()
	d := &daemon{verbs: verbs.New(verbs.Options{Store: s, Reader: verbs.FromView{Store: s, View: v}, Logger: quiet})}
	web := api.Object{Kind: api.KindDeployment, Scope: "shop", Name: "web", Spec: json.RawMessage(
		`{"image":"web:1","autoscale":{"min":1,"max":5,"cpu_target":50}}`)}
	applied, err := d.verbs.Apply(ctx, []api.Object{web}, verbs.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.autoscale(ctx, lostTerm{}, web.Ref(), 2); !errors.Is(err, controlplane.ErrDeposed) {
		t.Errorf("the step ended with %v", err)
	}
	if entry, err := s.Get(ctx, records.ObjectKey(web.Ref())); err != nil || entry.Modified != applied.Revision {
		t.Errorf("the deployment was written at %d, %v; its apply was %d", entry.Modified, err, applied.Revision)
	}
	if err := d.autoscale(ctx, s, web.Ref(), 2); err != nil {
		t.Errorf("within a term: %v", err)
	}
}
