package clusterjob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pull"
)

// TestWhatAnOperationClaims: Ready is whether the operation has succeeded and still does, Progressing what it does or
// waits for, Degraded why it fails. The reports of a row come one after another; those of a replication with a
// schedule go on after a success.
func TestWhatAnOperationClaims(t *testing.T) {
	const (
		first  = "Running True VolSyncFirstSyncInProgress: the first synchronization is in progress"
		notYet = "Succeeded False NotYetSucceeded"
		synced = "Succeeded True VolSyncLastSyncSucceeded: synchronized at 3"
		idle   = "Running True VolSyncIdle: synchronized at 3"
		wrong  = "Succeeded False VolSyncLastSyncFailed: wrong password"
		faulty = "Degraded True VolSyncLastSyncFailed: wrong password"
		again  = "Running True VolSyncSynchronizing: wrong password"
		well   = "Degraded False Recovered"
		failed = "Failed True EngineFailed: the volume is gone"
		over   = "Running False EngineFailed"
		cancel = "Cancelled True UserCancelled: by ada"
	)
	for name, row := range map[string]struct {
		reason                       string
		reports                      []string
		phase                        string
		ready, progressing, degraded string
	}{
		"begins": {"nothing is known but that it runs", []string{notYet, first}, api.OperationRunning,
			"False NotYetSucceeded", strings.TrimPrefix(first, "Running "), "False AsExpected"},
		"waits": {"it waits for the obstacle to go", []string{notYet, "Running False EngineNotStarted",
			"Blocked True AwaitingApproval: approve it"}, api.DeliveredPending,
			"False NotYetSucceeded", "True AwaitingApproval: approve it", "False AsExpected"},
		"succeeds": {"the last synchronization did", []string{notYet, first, synced, idle}, api.OperationRunning,
			"True VolSyncLastSyncSucceeded: synchronized at 3", "False Complete", "False AsExpected"},
		"fails at first": {"a person has to do something", []string{notYet, wrong, faulty, again}, api.OperationRunning,
			"False VolSyncLastSyncFailed: wrong password", "False Complete", "True VolSyncLastSyncFailed: wrong password"},
		"succeeds, then fails": {"an old success doesn't count", []string{synced, idle, wrong, faulty, again},
			api.OperationRunning, "False VolSyncLastSyncFailed: wrong password", "False Complete",
			"True VolSyncLastSyncFailed: wrong password"},
		"fails, then succeeds": {"an old failure doesn't count", []string{wrong, faulty, again, synced, well, idle},
			api.OperationRunning, "True VolSyncLastSyncSucceeded: synchronized at 3", "False Complete", "False AsExpected"},
		"succeeds, then ends with a failure": {"the end is not the success it had", []string{synced, idle, failed, over},
			api.DeliveredFailed, "False EngineFailed: the volume is gone", "False Complete",
			"True EngineFailed: the volume is gone"},
		"fails once and for all": {"the cause is the cluster's", []string{notYet, failed, over}, api.DeliveredFailed,
			"False EngineFailed: the volume is gone", "False Complete", "True EngineFailed: the volume is gone"},
		"succeeds, then is cancelled": {"a replication ends like this", []string{synced, cancel, "Running False UserCancelled"},
			api.OperationCancelled, "False UserCancelled: by ada", "False Complete", "False AsExpected"},
		"is cancelled": {"what was asked for is not done", []string{notYet, cancel, "Running False UserCancelled"},
			api.OperationCancelled, "False UserCancelled: by ada", "False Complete", "True UserCancelled: by ada"},
		"succeeds once": {"it is done", []string{notYet, "Succeeded True JobSucceeded", "Running False JobSucceeded"},
			api.OperationSucceeded, "True JobSucceeded", "False Complete", "False AsExpected"},
	} {
		t.Run(name, func(t *testing.T) {
			w := operationWorld(t)
			for _, text := range row.reports {
				w.now = w.now.Add(time.Second)
				w.event(t, 101, w.now, []pull.Condition{conditionOf(text)})
				w.control(t)
			}
			if w.status.Phase != row.phase {
				t.Errorf("%s: phase %s, want %s", row.reason, w.status.Phase, row.phase)
			}
			for kind, want := range map[string]string{api.ConditionReady: row.ready,
				api.ConditionProgressing: row.progressing, api.ConditionDegraded: row.degraded} {
				c := api.FindCondition(w.status.Conditions, kind)
				got := strings.TrimSuffix(fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), ": ")
				if got != want {
					t.Errorf("%s: %s is %s, want %s", row.reason, kind, got, want)
				}
			}
		})
	}
}

// conditionOf reads a condition from "Type Status Reason: message".
func conditionOf(text string) pull.Condition {
	head, message, _ := strings.Cut(text, ": ")
	words := strings.Fields(head)
	return pull.Condition{Type: words[0], Status: api.ConditionStatus(words[1]), Reason: words[2], Message: message}
}
