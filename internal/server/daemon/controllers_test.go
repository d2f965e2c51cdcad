package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/kinds/autoscaler"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// lostTerm refuses every commit, as the term of a server that lost the controllers does.
type lostTerm struct{}

func (lostTerm) Commit(context.Context, store.Txn) (int64, error) { return 0, controlplane.ErrDeposed }

// scaled is a daemon with one deployment that is scaled by its load.
type scaled struct {
	*daemon
	store *memory.Store
	view  *view.View
	web   api.Object
}

func newScaled(t *testing.T) scaled {
	s, quiet := memory.New(), slog.New(slog.DiscardHandler)
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes, Logger: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- v.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; _ = s.Close() })
	<-v.Synced()
	d := &daemon{verbs: verbs.New(verbs.Options{Store: s, Reader: verbs.FromView{Store: s, View: v}, Logger: quiet})}
	web := api.Object{Kind: api.KindDeployment, Scope: "shop", Name: "web", Spec: json.RawMessage(
		`{"image":"web:1","autoscale":{"min":1,"max":5,"cpu_target":50}}`)}
	return scaled{d, s, v, web}
}

// apply stores the deployment, and returns which one it is and its revision.
func (d scaled) apply(t *testing.T) (autoscaler.Deployment, int64) {
	t.Helper()
	applied, err := d.verbs.Apply(t.Context(), []api.Object{d.web}, verbs.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return autoscaler.Deployment{Ref: d.web.Ref(), UID: d.stored(t).Metadata.UID}, applied.Revision
}

func (d scaled) stored(t *testing.T) (object api.Object) {
	t.Helper()
	entry, err := d.store.Get(t.Context(), records.ObjectKey(d.web.Ref()))
	if err == nil {
		err = json.Unmarshal(entry.Value, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	object.Metadata.Revision = entry.Modified
	return object
}

// TestTheAutoscalerCommitsThroughItsTerm: of a server that lost the controllers no step is stored, and the error isn't
// that of a deployment that was changed meanwhile.
func TestTheAutoscalerCommitsThroughItsTerm(t *testing.T) {
	d := newScaled(t)
	web, applied := d.apply(t)
	if err := d.autoscale(t.Context(), lostTerm{}, web, 2); !errors.Is(err, controlplane.ErrDeposed) {
		t.Errorf("the step ended with %v", err)
	}
	if written := d.stored(t).Metadata.Revision; written != applied {
		t.Errorf("the deployment was written at %d; its apply was %d", written, applied)
	}
	if err := d.autoscale(t.Context(), d.store, web, 2); err != nil {
		t.Errorf("within a term: %v", err)
	}
}

// TestTheAutoscalerScalesNoSuccessor: the deployment is deleted and made again while a step of the old one is
// under way.
func TestTheAutoscalerScalesNoSuccessor(t *testing.T) {
	d := newScaled(t)
	old, _ := d.apply(t)
	deleted, err := records.NewTxn("test").Delete(records.ObjectKey(old.Ref)).Delete(records.NameKey(old.Ref)).
		Commit(t.Context(), d.store)
	if err == nil {
		err = d.view.WaitFor(t.Context(), deleted)
	}
	if err != nil {
		t.Fatal(err)
	}
	next, applied := d.apply(t)
	err = d.autoscale(t.Context(), d.store, old, 2)
	if written := d.stored(t).Metadata.Revision; !errors.Is(err, autoscaler.ErrRefused) || written != applied {
		t.Errorf("a step of %s: %v; its successor %s was written at %d, applied at %d",
			old.UID, err, next.UID, written, applied)
	}
}
