package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// TestALateResume: the store doesn't answer the commit by which a resume adopts what runs, and applies it only
// after the next resume, which found that those containers had ended, removed them.
func TestALateResume(t *testing.T) {
	ctx := context.Background()
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	older := m.backup()
	r = m.start(nil).ready()
	restarted, err := r.client.Restart(ctx, client.TargetOf(web))
	if err != nil {
		t.Fatal(err)
	}
	r.converged(web, restarted.Revision)
	r.until("the new ones alone are left", func() bool { return len(m.engine.Containers()) == 2 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	m.restore(older)
	slow := storefault.New(m.store, func(txn store.Txn) storefault.Fate {
		if txn.Site == "resume.adopt" {
			return storefault.Late(1 << 30) // only at Flush
		}
		return storefault.Answered
	})
	r = m.startWith(func(o *Options) { o.Store = kept{slow} })
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
