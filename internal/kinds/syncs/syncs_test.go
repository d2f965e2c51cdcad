package syncs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/storefault"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}

// TestASyncThroughItsLife: polled at its interval, applied once, applied again when it changes, and forgotten.
func TestASyncThroughItsLife(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declare("a", "uid-a")
		h.want("declared", "[0s keep [uid-a] 0s poll /a 0s apply /a]")
		if got := h.status("a"); got != "Applied r1" {
			t.Errorf("status %s", got)
		}
		written := h.view.Revision()
		after(2 * time.Minute)
		h.want("unchanged", "[1m0s poll /a 2m0s poll /a]")
		if now := h.view.Revision(); now != written {
			t.Errorf("an unchanged source wrote: revision %d, then %d", written, now)
		}
		h.behave("/a", has("r2"), applies("r2", nil))
		after(time.Minute)
		h.want("changed", "[3m0s poll /a 3m0s apply /a]")
		h.declare("a", "uid-a") // as tend sync now does: another revision of the object
		h.want("now", "[3m0s poll /a 3m0s apply /a]")
		h.write(records.NewTxn("test").Delete(records.ObjectKey(refTo("a"))))
		h.want("deleted", "[3m0s drop uid-a]")
		if got := h.status("a"); got != "none" {
			t.Errorf("status %s of a sync that is gone", got)
		}
		after(5 * time.Minute)
		h.want("gone", "[]")
	})
}

// TestTheInterval: a source is polled as often as its sync says.
func TestTheInterval(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declareSpec("a", "uid-a", api.SyncSpec{Dir: "/a", Interval: "7s"})
		after(22 * time.Second)
		h.want("every 7 s", "[0s keep [uid-a] 0s poll /a 0s apply /a 7s poll /a 14s poll /a 21s poll /a]")
	})
}

// TestAFolderThatFails is polled as often as one that doesn't: who mends it waits for no longer than the interval.
func TestAFolderThatFails(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", fails(errors.New("line 3: what is this?")), nil)
		h.declare("a", "uid-a")
		after(5*time.Minute + time.Second)
		h.want("failing", "[0s keep [uid-a] 0s poll /a 1m0s poll /a 2m0s poll /a 3m0s poll /a 4m0s poll /a 5m0s poll /a]")
	})
}

// TestFailures: a source that can't be read is polled less often, and one that can't be applied is tried with each
// poll. What is applied stays.
func TestFailures(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declareSpec("a", "uid-a", api.SyncSpec{Git: "/a"})
		after(time.Second)
		h.take()
		h.behave("/a", fails(source.NewFault(api.ReasonNotVerified, "sign it", "no signature")), nil)
		after(30 * time.Minute)
		h.want("failing", "[1m0s poll /a 2m0s poll /a 4m0s poll /a 8m0s poll /a 16m0s poll /a 26m0s poll /a]")
		if got := h.status("a"); got != "NotVerified r1" {
			t.Errorf("status %s", got)
		}
		h.behave("/a", fails(errors.New("no route")), nil)
		after(10 * time.Minute)
		h.take()
		if got := h.status("a"); got != "FetchFailed r1" {
			t.Errorf("status %s", got)
		}
		h.behave("/a", has("r2"), refuses("r2"))
		after(8 * time.Minute)
		h.want("refused", "[46m0s poll /a 46m0s apply /a 47m0s poll /a 47m0s apply /a 48m0s poll /a 48m0s apply /a]")
		if got := h.status("a"); got != "FieldOwned r1" {
			t.Errorf("status %s", got)
		}
		h.behave("/a", has("r1"), applies("r1", nil))
		after(time.Minute)
		h.want("back", "[49m0s poll /a 49m0s apply /a]")
		if got := h.status("a"); got != "Applied r1" {
			t.Errorf("status %s", got)
		}
	})
}

// TestApplyAfterApplyIsForgotten: a source that fails for days leaves the server with the last answer, not with all.
func TestApplyAfterApplyIsForgotten(t *testing.T) {
	var freed atomic.Int32
	inHarness(t, func(h *harness) {
		applied := 0
		h.behave("/a", has("r1"), func(context.Context) source.Applied {
			applied++
			fault := source.NewFault(api.ReasonFieldOwned, "agree", "it is another's")
			runtime.AddCleanup(fault, func(int) { freed.Add(1) }, 0)
			return source.Applied{Revision: "r1", Fault: fault}
		})
		h.declare("a", "uid-a")
		after(20*time.Minute + time.Second)
		if applied < 20 {
			t.Errorf("%d applies", applied)
		}
		for range 3 {
			runtime.GC()
			after(time.Millisecond)
		}
		if n := freed.Load(); n < 15 {
			t.Errorf("of %d applies %d are forgotten", applied, n)
		}
	})
}

// TestADriftIsRepaired: an object that a user changed or deleted is applied again within the time of a resync; one that
// is still being deleted is not.
func TestADriftIsRepaired(t *testing.T) {
	inHarness(t, func(h *harness) {
		put := func(deleting bool) int64 {
			object := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: []byte("{}")}
			if deleting {
				object.Metadata.DeletedAt = &h.began
			}
			return h.write(records.NewTxn("test").Put(records.ObjectKey(web), object))
		}
		var at atomic.Int64
		at.Store(put(false))
		h.behave("/a", has("r1"), func(context.Context) source.Applied {
			return source.Applied{Revision: "r1", Objects: map[api.Ref]int64{web: at.Load()}}
		})
		h.declare("a", "uid-a")
		after(35 * time.Second)
		h.want("as it was left", "[0s keep [uid-a] 0s poll /a 0s apply /a]")
		put(true)
		after(20 * time.Second)
		h.want("being deleted", "[]")
		at.Store(put(false))
		after(11 * time.Second)
		// the next poll is due at the same instant as the resync that finds it
		if got := h.take(); got != "[1m0s poll /a 1m0s apply /a]" && got != "[1m0s apply /a 1m0s poll /a]" {
			t.Errorf("made again: %s", got)
		}
		after(20 * time.Second)
		h.want("repaired", "[]")
	})
}

// TestASourceThatHangsHoldsUpNothing: neither its poll nor its apply takes a worker.
func TestASourceThatHangsHoldsUpNothing(t *testing.T) {
	inHarness(t, func(h *harness) {
		hang := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		for i := range pollsAtOnce - 1 {
			name := fmt.Sprintf("hang%d", i)
			h.behave("/"+name, hang, nil)
			h.declare(name, "uid-"+name)
		}
		h.behave("/slow", has("r1"), func(ctx context.Context) source.Applied { <-ctx.Done(); return source.Applied{} })
		h.declare("slow", "uid-slow")
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declare("a", "uid-a")
		after(time.Second)
		if got := h.status("a"); got != "Applied r1" {
			t.Errorf("status %s", got)
		}
		if got := h.status("hang0"); got != "Fetching " {
			t.Errorf("status of one that hangs: %s", got)
		}
	})
}

// TestASyncMadeAgainBetweenTwoReconciles: what was fetched for the one before goes.
func TestASyncMadeAgainBetweenTwoReconciles(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declare("a", "uid-a")
		h.want("declared", "[0s keep [uid-a] 0s poll /a 0s apply /a]")
		h.declare("a", "uid-b") // another object, of which the reconcile sees no end of the one before
		if got := h.take(); !strings.Contains(got, "drop uid-a") || !strings.Contains(got, "apply /a") {
			t.Errorf("made again: %s", got)
		}
	})
}

// TestAnAppliedSyncIsClean: the times of its status are not compared as they are in memory. Applies commit through the
// controller's own store, which is its term's.
func TestAnAppliedSyncIsClean(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), func(context.Context) source.Applied {
			return source.Applied{Revision: "r1", Changes: []api.SyncChange{{Object: web, Action: api.ActionPruned}}}
		})
		h.declare("a", "uid-a")
		after(time.Second)
		if got := h.status("a"); got != "Applied r1" {
			t.Errorf("status %s", got)
		}
		if dirty := h.controller.Dirty(time.Now()); len(dirty) > 0 {
			t.Errorf("to be reconciled again: %v", dirty)
		}
		if h.through == nil || h.through != h.controller.Store {
			t.Errorf("applied through %v", h.through)
		}
	})
}

// TestAnotherServerWritesNothingNew: after the loss of a term another server polls and applies, and the status stays.
func TestAnotherServerWritesNothingNew(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), applies("r1", nil))
		h.declare("a", "uid-a")
		after(time.Second)
		written := h.view.Revision()
		h.take()
		stop := h.start(h.Context())
		h.want("another server", "[1s keep [uid-a] 1s poll /a 1s apply /a]")
		if now := h.view.Revision(); now != written {
			t.Errorf("it wrote: revision %d, then %d", written, now)
		}
		stop()
	})
}

// TestAStatusWithoutAnAnswerIsWrittenOnce: the write of a status got no answer, and was applied or lost.
func TestAStatusWithoutAnAnswerIsWrittenOnce(t *testing.T) {
	for name, fate := range map[string]storefault.Fate{"applied": storefault.Unanswered,
		"applied later": storefault.LateBy(30 * time.Second), "lost": storefault.Lost} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(h *harness) {
				commits := 0
				h.fate = func(store.Txn) storefault.Fate {
					if commits++; commits == 2 {
						return fate
					}
					return storefault.Answered
				}
				h.behave("/a", has("r1"), applies("r1", nil))
				h.declare("a", "uid-a")
				after(2 * time.Minute)
				if got := h.status("a"); got != "Applied r1" {
					t.Errorf("status %s after %d commits", got, commits)
				}
			})
		})
	}
}

// TestAnApplyThatPanicsIsRefused: the status says so, and the source is applied again after the next poll, no sooner.
func TestAnApplyThatPanicsIsRefused(t *testing.T) {
	inHarness(t, func(h *harness) {
		h.behave("/a", has("r1"), func(context.Context) source.Applied { panic("no parser") })
		h.declare("a", "uid-a")
		after(time.Second)
		h.want("declared", "[0s keep [uid-a] 0s poll /a 0s apply /a]")
		if got := h.status("a"); got != "ApplyRefused " {
			t.Errorf("status %q", got)
		}
		h.behave("/a", has("r1"), applies("r1", nil))
		after(time.Minute)
		h.want("polled", "[1m0s poll /a 1m0s apply /a]")
	})
}
