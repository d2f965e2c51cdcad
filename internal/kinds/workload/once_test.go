package workload

import (
	"errors"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// TestACommandIsStartedOnce: two writers that both decided to start the command of a release start it once, also if
// nothing else keeps them apart.
func TestACommandIsStartedOnce(t *testing.T) {
	l := newHarness(t)
	l.does["v1-command"] = hangs
	l.apply(released(1, "web:1"))
	release := api.Release{ID: "v9"}
	for i, want := range []error{nil, store.ErrConflict} {
		s := writes{at: l.observation(), o: l.observed(), txn: records.NewTxn("test")}
		s.startCommand(commandStart{release: &release, role: api.RoleCommand})
		if _, err := s.txn.Commit(t.Context(), l.store); !errors.Is(err, want) {
			t.Errorf("start %d: %v, want %v", i+1, err, want)
		}
	}
}
