package intent

import (
	"errors"
	"testing"

	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// A change of config that had no answer is applied after the next one: it doesn't undo it.
func TestALateConfigChangeUndoesNothing(t *testing.T) {
	w := newWorld(t, withKeys)
	late := storefault.New(w.store, func(txn store.Txn) storefault.Fate {
		if txn.Site == "config" && w.commits.Add(1) == 2 {
			return storefault.Late(1)
		}
		return storefault.Answered
	})
	w.service.opts.Store = late
	for i, value := range []string{"one", "two", "three"} {
		_, err := w.service.SetConfig(t.Context(), ofWeb, ConfigChange{Set: map[string]string{"A": value}})
		if unknown := errors.Is(err, store.ErrUnknownOutcome); unknown != (i == 1) {
			t.Fatalf("set %s: %v", value, err)
		}
	}
	if got, err := w.service.ConfigValue(t.Context(), ofWeb, "A", ""); err != nil || got != "three" {
		t.Errorf("A is %q, %v; want three, which was set last", got, err)
	}
}
