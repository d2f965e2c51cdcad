package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// TestOneBadObjectHidesNoOther: of three objects one needs something, one panics and one needs nothing. The first two
// are due, in each loop that passes over objects.
func TestOneBadObjectHidesNoOther(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	s := deployments(t, "bad", "clean", "due")
	now := time.Now()
	judge := func(name string) bool {
		if name == "bad" {
			panic("cannot judge")
		}
		return name == "due"
	}
	shell := func(rests bool) *control.Shell {
		return control.New(control.Deps{Snapshot: func() records.Snapshot { return s }}, control.Kind{
			KindInfo: api.KindDeployment.Info(), Rests: rests,
			Step: control.Report(func(o control.Observation, before api.WorkloadStatus) api.WorkloadStatus {
				if judge(o.Ref.Name) {
					before.Ready++
				}
				return before
			}),
		})
	}
	var quiet control.Quiet
	resting := shell(true)
	passes := map[string]func() []reconciler.Key{
		"Due": func() []reconciler.Key {
			return control.Due(control.Keys(s, api.KindDeployment),
				func(key reconciler.Key) bool { return judge(key.Name) })
		},
		"Quiet": func() []reconciler.Key {
			keys := control.Keys(s, api.KindDeployment)
			return quiet.Dirty(s, keys, now, func(_ records.Snapshot, key reconciler.Key, _ time.Time) control.Verdict {
				return control.Verdict{Dirty: judge(key.Name)}
			})
		},
		"Shell":            func() []reconciler.Key { return shell(false).Dirty(now) },
		"Shell that rests": func() []reconciler.Key { return resting.Dirty(now) },
	}
	for name, pass := range passes {
		for round := range 2 {
			var names []string
			for _, key := range pass() {
				names = append(names, key.Name)
			}
			if diff := cmp.Diff([]string{"bad", "due"}, names); diff != "" {
				t.Errorf("%s, pass %d (-want +got):\n%s", name, round, diff)
			}
		}
	}
}

// TestWhatPanicsIsAnError: a step that panics fails the dry run of its object, and what a change may concern besides
// the changed object doesn't hide that.
func TestWhatPanicsIsAnError(t *testing.T) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	t.Cleanup(func() { slog.SetDefault(before) })
	s := deployments(t, "bad")
	c := control.New(control.Deps{Snapshot: func() records.Snapshot { return s }}, control.Kind{
		KindInfo: api.KindDeployment.Info(),
		Step:     func(control.Observation) (control.Step, error) { panic("cannot decide") },
		Reads:    []control.Input{func(records.Snapshot, view.Change) []api.Ref { panic("cannot say") }},
	})
	object := *s.Object(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "bad"}).Value
	var panicked *recovery.PanicError
	if plan, err := c.Preview(s, object); !errors.As(err, &panicked) {
		t.Errorf("the dry run is %v, %v", plan, err)
	}
	own := []reconciler.Key{control.Key(object.Ref())}
	if diff := cmp.Diff(own, c.Affected(s, view.Change{New: &object})); diff != "" {
		t.Error(diff)
	}
}

// deployments returns a snapshot with deployments that have a status.
func deployments(t *testing.T, names ...string) records.Snapshot {
	t.Helper()
	s := memory.New()
	txn := records.NewTxn("test")
	for _, name := range names {
		ref := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: name}
		txn.Put(records.ObjectKey(ref), api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: name,
			Spec: []byte(fmt.Sprintf(`{"image":%q}`, name))})
		txn.Put(records.StatusKey(ref), api.WorkloadStatus{})
	}
	if _, err := txn.Commit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = v.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; _ = s.Close() })
	<-v.Synced()
	return records.Snapshot{Reader: v.Snapshot()}
}
