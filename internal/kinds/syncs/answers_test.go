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
		release <- source.Applied{Revision: "r1", Changes: changed}
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
