package verbs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/storefault"
)

// A change of config without an answer is applied after the next one: it doesn't undo that.
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

// A run requested again under the same key is the first one, whatever happened to the first answer. Under another key,
// or none, it is a second one.
func TestARepeatedRunIsOne(t *testing.T) {
	for name, fate := range map[string]storefault.Fate{
		"answered": storefault.Answered, "applied": storefault.Unanswered, "applied late": storefault.Late(1),
		"lost": storefault.Lost,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mustApply(runnable(api.KindCronJob, api.ConcurrencyForbid))
			sent := 0
			late := storefault.New(w.store, func(txn store.Txn) storefault.Fate {
				if sent++; sent == 1 {
					return fate
				}
				return storefault.Answered
			})
			w.service.opts.Store = late
			ctx, err := WithIdempotencyKey(t.Context(), "0123456789abcdef")
			if err != nil {
				t.Fatal(err)
			}
			run := func() (api.RunResult, error) {
				return w.service.Run(ctx, Target{Kind: api.KindCronJob, Name: "mail"}, "ada")
			}
			first, err := run()
			var unknown *UnknownOutcomeError
			if lost := fate != storefault.Answered; errors.As(err, &unknown) != lost ||
				lost && !strings.Contains(unknown.Next(), "tend runs") {
				t.Fatalf("the first answer is %v", err)
			}
			second, err := run()
			if err != nil || second.Run.ID == "" || second.Revision == 0 || first.Run.ID != "" &&
				second.Run.ID != first.Run.ID {
				t.Errorf("the repeat answers %+v, %v; want the run of the first, %+v", second, err, first)
			}
			late.Flush()
			page, err := w.store.List(t.Context(), "/runs/", store.ListOptions{})
			if err != nil || len(page.Entries) != 1 {
				t.Errorf("%d runs, %v; want one", len(page.Entries), err)
			}
			var refused *Error
			if _, err := w.service.Run(context.Background(), Target{Kind: api.KindCronJob, Name: "mail"},
				"ada"); !errors.As(err, &refused) {
				t.Errorf("without the key: %v; want that another run is on", err)
			}
		})
	}
}
