package control_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/memory"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// caller is a kind whose one subject wants what it is set to, with what its steps saw.
type caller struct {
	*testing.T
	shell *control.Shell
	wants control.Step
	saw   []string
	made  []string
	fails error
}

var subject = api.Ref{Kind: "caller", Scope: "prod", Name: "a"}

func (c *caller) Commit(context.Context, store.Txn) (int64, error) { return 0, c.fails }

func (c *caller) step(o control.Observation) (control.Step, error) {
	if answer, ok := control.Answer[string](o, "ask"); ok {
		c.saw = append(c.saw, answer)
	}
	if memo := control.Recall[string](o); memo != "" {
		c.saw = append(c.saw, "memo "+memo)
	}
	next := c.wants
	if c.fails != nil {
		next.Guard = "/status/x"
		next.Txn = records.NewTxn("test").If(next.Guard, 0).Put(next.Guard, api.SyncStatus{})
	}
	return next, nil
}

func (c *caller) reconcile(want error, saw ...string) {
	c.Helper()
	c.saw = nil
	if _, err := c.shell.Reconcile(c.Context(), control.Key(subject)); !errors.Is(err, want) {
		c.Errorf("the reconcile ended with %v, want %v", err, want)
	}
	synctest.Wait()
	if fmt.Sprint(c.saw) != fmt.Sprint(saw) {
		c.Errorf("the step saw %q, want %q", c.saw, saw)
	}
}

func (c *caller) dirty(want bool) {
	c.Helper()
	if got := len(c.shell.Dirty(time.Now())) > 0; got != want {
		c.Errorf("a pass finds it due: %v, want %v", got, want)
	}
}

// inShell runs a test with a Shell that makes calls, and returns its keys to woken.
func inShell(t *testing.T, test func(c *caller)) {
	synctest.Test(t, func(t *testing.T) {
		c := &caller{T: t}
		s := memory.New()
		v := view.New(s, view.Options{Decode: records.Decode, Indexes: records.Indexes})
		c.shell = control.New(control.Deps{
			Store: c, Snapshot: func() records.Snapshot { return records.Snapshot{Reader: v.Snapshot()} },
		}, control.Kind{
			KindInfo: api.KindInfo{Kind: subject.Kind}, Step: c.step,
			Keys: func(records.Snapshot) []api.Ref { return []api.Ref{subject} },
			Call: func(ctx context.Context, _ records.Read[api.Object], call control.Call) any {
				c.made = append(c.made, call.Name)
				if call.Limit == 0 {
					<-ctx.Done()
					c.made = append(c.made, "end of "+call.Name)
				}
				return call.Request
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = c.shell.Source(ctx, func(...reconciler.Key) {}) }()
		synctest.Wait()
		test(c)
		cancel()
		synctest.Wait()
		_ = s.Close()
	})
}

// TestAnAnswerIsGivenUntilAStepIsCommitted: a commit that fails keeps it, and makes no call.
func TestAnAnswerIsGivenUntilAStepIsCommitted(t *testing.T) {
	inShell(t, func(c *caller) {
		c.dirty(false)
		c.wants.Calls = []control.Call{{Name: "ask", Limit: time.Second, Request: "yes"}}
		c.dirty(true)
		c.fails = store.ErrConflict
		if c.reconcile(store.ErrConflict); len(c.made) > 0 {
			t.Errorf("a step that was not committed made %q", c.made)
		}
		c.fails = nil
		if c.reconcile(nil); fmt.Sprint(c.made) != "[ask]" {
			t.Errorf("made were %q", c.made)
		}
		c.wants.Calls, c.fails = nil, store.ErrConflict
		c.reconcile(store.ErrConflict, "yes")
		c.fails = nil
		c.dirty(true)
		c.reconcile(nil, "yes")
		c.reconcile(nil)
		c.dirty(false)
	})
}

// TestACallThatLastsEndsWithItsNeed: it goes on while steps want it, and another one begins after its end.
func TestACallThatLastsEndsWithItsNeed(t *testing.T) {
	inShell(t, func(c *caller) {
		for _, name := range []string{"one", "one", "two", "two", "", ""} {
			c.wants.Calls = nil
			if name != "" {
				c.wants.Calls = []control.Call{{Name: name}}
			}
			c.reconcile(nil)
		}
		if fmt.Sprint(c.made) != "[one end of one two end of two]" {
			t.Errorf("made were %q", c.made)
		}
		c.dirty(false)
	})
}

// TestAMemoIsGivenToTheNextStep: while it is the same the object needs nothing.
func TestAMemoIsGivenToTheNextStep(t *testing.T) {
	inShell(t, func(c *caller) {
		c.wants.Memo = "m"
		c.dirty(true)
		c.reconcile(nil)
		c.dirty(false)
		c.wants.Memo = nil
		c.dirty(true)
		c.reconcile(nil, "memo m")
		c.reconcile(nil)
		c.dirty(false)
	})
}

// TestACallThatLastsHoldsNoObservation: what the step before it remembered is freed, as its snapshot is.
func TestACallThatLastsHoldsNoObservation(t *testing.T) {
	inShell(t, func(c *caller) {
		memo := new([1024]byte)
		c.wants.Memo = memo
		held := weak.Make(memo)
		c.reconcile(nil)
		c.wants.Memo, c.wants.Calls = nil, []control.Call{{Name: "one"}}
		c.reconcile(nil)
		if runtime.GC(); fmt.Sprint(c.made) != "[one]" || held.Value() != nil {
			t.Errorf("made were %q; the memo is held: %v", c.made, held.Value() != nil)
		}
	})
}
