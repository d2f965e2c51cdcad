package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// TestALateResume: the commit by which a resume adopts containers gets no answer. It would be applied only after the
// next resume, which found those containers ended, and removed them.
func TestALateResume(t *testing.T) {
	for name, shared := range map[string]bool{"one server": false, "among several": true} {
		t.Run(name, func(t *testing.T) { lateResume(t, shared) })
	}
}

func lateResume(t *testing.T, shared bool) {
	ctx := context.Background()
	m := newMachine(t)
	m.restore(m.restarted(manifestOf(web, replicas(2))))
	slow := storefault.New(m.store, func(txn store.Txn) storefault.Fate {
		if txn.Site == "resume.adopt" {
			return storefault.Late(1 << 30) // only at Flush
		}
		return storefault.Answered
	})
	r := m.startWith(func(o *Options) { o.Store, o.Name, o.Shared = kept{slow}, "a", shared })
	r.wantPaused(2)
	if _, err := r.client.Resume(ctx, ""); err == nil || !strings.Contains(err.Error(), store.ErrUnknownOutcome.Error()) {
		t.Fatalf("adopted without an answer: %v", err)
	}
	for _, c := range m.engine.Containers() {
		if err := m.engine.StopByHand(c.Name); err != nil {
			t.Fatal(err)
		}
	}
	if result, err := r.client.Resume(ctx, api.UnknownStop); err != nil || len(result.Stopped) != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	slow.Flush()
	if late := slow.Refused(); !slices.Equal(late, []string{"resume.adopt"}) {
		t.Errorf("refused: %v", late)
	}
	r.ready().converged(web, 0)
	r.until("two containers run, and the node knows all it has", func() bool {
		nodes, err := r.client.Nodes(ctx)
		return err == nil && len(m.runs()) == 2 && len(m.engine.Containers()) == 2 && len(nodes.Items[0].Quarantined) == 0
	})
}
