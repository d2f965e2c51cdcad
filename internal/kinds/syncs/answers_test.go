package syncs

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// TestAChangedSyncTakesNoAnswerOfTheOneBefore: its apply begins when that of the one before has ended, whose answer is
// not its own; also where it was deleted meanwhile. What the one before applied stays known, unless it was deleted.
func TestAChangedSyncTakesNoAnswerOfTheOneBefore(t *testing.T) {
	for name, deleted := range map[string]bool{"changed": false, "made again": true} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(h *harness) {
				release, uid := make(chan source.Applied), "uid-a"
				h.behave("/a", has("old"), func(context.Context) source.Applied { return <-release })
				h.declare("a", "uid-a")
				h.want("declared", "[0s keep [uid-a] 0s poll /a 0s apply /a]")
				if deleted {
					h.write(records.NewTxn("test").Delete(records.ObjectKey(refTo("a"))))
					h.want("deleted", "[0s drop uid-a]")
					uid = "uid-b"
				}
				h.behave("/a", has("new"), func(context.Context) source.Applied { return <-release })
				h.declare("a", uid)
				h.want("declared otherwise", "[0s poll /a]")
				release <- source.Applied{Revision: "old"}
				h.want("the one before has ended", "[0s apply /a]")
				want := "Fetching old"
				if deleted {
					want = "Fetching "
				}
				if got := h.status("a"); got != want {
					t.Errorf("status %q after the answer of the one before, want %q", got, want)
				}
				release <- source.Applied{Revision: "new"}
				if got := h.status("a"); got != "Applied new" {
					t.Errorf("status %s", got)
				}
			})
		})
	}
}

// TestAPollWhileAnApplyRunsLosesNoChange: a poll that a user asks for finds everything applied. The status still says
// what the apply that ran meanwhile has changed, and when.
func TestAPollWhileAnApplyRunsLosesNoChange(t *testing.T) {
	inHarness(t, func(h *harness) {
		release := make(chan source.Applied)
		h.behave("/a", has("r1"), func(context.Context) source.Applied { return <-release })
		h.declare("a", "uid-a")
		h.take()
		h.declare("a", "uid-a") // as tend sync now does: another revision of the object
		h.take()
		changed := []api.SyncChange{{Object: web, Action: string(api.ActionCreated)}}
		release <- source.Applied{Revision: "r1", Changes: changed, Committed: 1}
		h.take()
		release <- source.Applied{Revision: "r1"}
		synctest.Wait()
		stored, _ := h.view.Snapshot().Get(records.StatusKey(refTo("a")))
		status := stored.Value.(*api.SyncStatus)
		if got := h.status("a"); got != "Applied r1" || !slices.Equal(status.Changes, changed) {
			t.Errorf("%s, changed %v", got, status.Changes)
		}
	})
}

// TestTheCommitOfAnApplySaysWhatItChanged: a server ended after the commit of an apply and before it wrote the status.
// The next one finds everything in place, and the status lists the changes all the same. Those of another sync of the
// name don't count, and the record goes with the sync.
func TestTheCommitOfAnApplySaysWhatItChanged(t *testing.T) {
	inHarness(t, func(h *harness) {
		changed := []api.SyncChange{{Object: web, Action: string(api.ActionCreated)}}
		record := func(txn *records.Txn, uid, revision string) {
			h.write(txn.Put(records.SyncedKey("a"),
				api.Synced{UID: uid, Revision: revision, At: h.began, Changes: changed, More: 3}))
		}
		h.behave("/a", has("r2"), applies("r2", nil))
		record(h.declaration("a", "uid-a", api.SyncSpec{Dir: "/a"}), "uid-a", "r2") // without its sync it would be dropped
		synctest.Wait()
		status := func() *api.SyncStatus {
			stored, _ := h.view.Snapshot().Get(records.StatusKey(refTo("a")))
			return stored.Value.(*api.SyncStatus)
		}
		if got := status(); h.status("a") != "Applied r2" || !slices.Equal(got.Changes, changed) || got.More != 3 ||
			!got.AppliedAt.Equal(h.began) {
			t.Errorf("%s, %+v", h.status("a"), got)
		}
		record(records.NewTxn("apply"), "uid-b", "r9")
		if got := h.status("a"); got != "Applied r2" {
			t.Errorf("of another sync: %s", got)
		}
		h.write(records.NewTxn("test").Delete(records.ObjectKey(refTo("a"))))
		synctest.Wait()
		if _, there := h.view.Snapshot().Get(records.SyncedKey("a")); there {
			t.Error("the record stays when the sync is gone")
		}
	})
}
