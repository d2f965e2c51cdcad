package lab

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// writes records what each write of a lab's status shows.
func (l *harness) writes(ref api.Ref, show func(api.LabStatus) string) func() []string {
	var seen []string
	l.OnChange(func(change view.Change) {
		status, ok := change.New.(*api.LabStatus)
		if !ok || change.Key != records.StatusKey(ref) {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		seen = append(seen, show(*status))
	})
	return func() []string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Clone(seen)
	}
}

func degraded(s api.LabStatus) string {
	c := api.FindCondition(s.Conditions, api.ConditionDegraded)
	return fmt.Sprintf("%s %s (%s) next %q", c.Status, c.Reason, s.LastFailure, c.Next)
}

// TestALabThatCantStartSaysSoAllTheTime: from its first failure until it runs, also while the next container is made.
func TestALabThatCantStartSaysSoAllTheTime(t *testing.T) {
	inHarness(t, func(l *harness) {
		seen := l.writes(linux, degraded)
		under := l.writes(linux, func(s api.LabStatus) string {
			c := api.FindCondition(s.Conditions, api.ConditionProgressing)
			return fmt.Sprintf("%s %s %v", c.Status, c.Reason, s.Failures >= 3)
		})
		l.Node.Set(func(n *controltest.Node) { n.Rejects = 4 })
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(time.Minute)
		l.phase(linux, api.LabRunning, "")
		failing := `True ProvisioningFailed (port 80 is taken) next "free it"`
		all := slices.Compact(seen())
		if want := []string{`False AsExpected () next ""`, failing, `False AsExpected () next ""`}; !slices.Equal(all,
			want) {
			t.Errorf("it said %q, want %q", all, want)
		}
		if all := under(); !slices.Contains(all, "True ProvisioningFailed false") ||
			!slices.Contains(all, "False ProvisioningFailed true") ||
			slices.Contains(all, "True ProvisioningFailed true") {
			t.Errorf("after three failures nothing counts as under way: %q", all)
		}
		if s := l.status(linux); s.Failures != 4 || s.LastFailure != "" {
			t.Errorf("%+v", s)
		}
	})
}

// TestACorrectedLabIsTriedAtOnce: it doesn't wait for the backoff of the failures before, and its failures are counted
// from 0 again.
func TestACorrectedLabIsTriedAtOnce(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Rejects = 6 })
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(40 * time.Second)
		if s := l.status(linux); s.Failures != 6 || time.Until(s.RetryAt) < 10*time.Second {
			t.Fatalf("%+v", s)
		}
		corrected := labOf(0, time.Hour)
		corrected.Image = "lab:2"
		l.Put(corrected, linux)
		l.Pass(time.Second)
		l.phase(linux, api.LabRunning, "")
		if s := l.status(linux); s.Image != "lab:2" || s.Failures != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestALabIsChangedAndStopped: one step sees both.
func TestALabIsChangedAndStopped(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Node.Set(func(n *controltest.Node) { n.Rejects = 100 })
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(40 * time.Second)
		l.Stop()
		corrected := labOf(0, time.Hour)
		corrected.Image = "lab:2"
		l.Put(corrected, linux)
		l.order(linux, 0, "ada")
		l.Serve()
		l.Pass(time.Minute)
		l.phase(linux, api.LabFailed, api.ReasonStopped)
		l.nothingLeft(linux)
	})
}

// TestAnImageThatIsTriedAgain: while a node pulls again what it could not get, the last failure counts.
func TestAnImageThatIsTriedAgain(t *testing.T) {
	inHarness(t, func(l *harness) {
		spec := labOf(0, time.Hour)
		spec.Image = "nowhere:1"
		l.Put(spec, linux)
		l.Pass(time.Second)
		l.phase(linux, api.LabPending, "ImageNotFound")
		l.Write(func(txn *records.Txn) {
			again := *l.Snapshot().ImageStatus("n1", linux).Value
			again.State, again.Attempts = api.ImagePulling, 3
			txn.Put(records.ImageStatusKey("n1", linux), again)
		})
		l.Pass(time.Second)
		l.phase(linux, api.LabPending, "ImageNotFound")
		l.condition(linux, api.ConditionDegraded, api.ConditionTrue, "ImageNotFound")
	})
}

// TestALabWithoutRoomIsUnderWayForAMoment: then nothing progresses, which ends the wait of an apply.
func TestALabWithoutRoomIsUnderWayForAMoment(t *testing.T) {
	inHarness(t, func(l *harness) {
		big := labOf(0, time.Hour)
		big.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: "100Gi"}}
		l.Put(big, linux)
		l.Pass(4 * time.Second)
		l.condition(linux, api.ConditionProgressing, api.ConditionTrue, api.ReasonTooLarge)
		l.Pass(2 * time.Second)
		l.condition(linux, api.ConditionProgressing, api.ConditionFalse, api.ReasonTooLarge)
		l.condition(linux, api.ConditionDegraded, api.ConditionTrue, api.ReasonTooLarge)
	})
}

// TestAStartIsFewWrites: each is an event, and a person wants the moves. The steps of the node are the pod's.
func TestAStartIsFewWrites(t *testing.T) {
	inHarness(t, func(l *harness) {
		seen := l.writes(linux, func(s api.LabStatus) string { return string(s.Phase) + " " + s.Reason })
		l.Put(labOf(time.Minute, time.Hour), linux)
		l.Pass(10 * time.Second)
		starts := len(seen())
		task := func() api.Task { return *l.Snapshot().TasksOf(linux)[0].Value }
		l.Node.SetQuietly(func(n *controltest.Node) { n.Cut = true })
		l.Pass(time.Minute)
		for _, step := range []string{"Creating", "Starting"} {
			l.Write(func(txn *records.Txn) {
				txn.Put(records.TaskStatusKey(task().ID),
					api.TaskStatus{ID: task().ID, Node: "n1", State: api.TaskPreparing, Reason: step,
						Message: step + " it", Container: "c"})
			})
			l.Pass(time.Second)
		}
		if s := l.status(linux); s.Node != "n1" || !strings.Contains(s.Message, "on node n1") {
			t.Errorf("%+v", s)
		}
		l.Node.Set(func(n *controltest.Node) { n.Cut = false })
		l.Pass(time.Second)
		want := []string{"PENDING Waiting", "PROVISIONING Provisioning", "RUNNING Running"}
		if all := seen()[starts:]; !slices.Equal(all, want) {
			t.Errorf("its start was written as %q, want %q", all, want)
		}
	})
}

// TestAChangedDurationMovesTheEnd: the end moves with what is declared, to both sides.
func TestAChangedDurationMovesTheEnd(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(0, time.Hour), linux)
		l.Pass(10 * time.Minute)
		for _, lasts := range []time.Duration{2 * time.Hour, 30 * time.Minute} {
			object := *l.Snapshot().Object(linux).Value
			object.Spec, _ = json.Marshal(labOf(0, lasts)) // texts alone
			actions, err := controller(l.Deps(), Options{}).Preview(l.Snapshot(), object)
			if err != nil || len(actions) != 1 || !strings.HasPrefix(actions[0].Text, "end at ") ||
				!strings.Contains(actions[0].Text, " instead of ") {
				t.Errorf("the dry run shows %+v, %v", actions, err)
			}
			l.Put(labOf(0, lasts), linux)
			l.Pass(time.Second)
			if s := l.status(linux); !s.EndsAt.Equal(s.StartedAt.Add(lasts)) {
				t.Errorf("%s: it ends at %s", lasts, s.EndsAt)
			}
		}
		l.Put(labOf(0, time.Minute), linux)
		l.Pass(time.Second)
		l.phase(linux, api.LabTimeout, api.ReasonTimedOut)
	})
}
