package lab

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/controltest"
	"tend.dev/tend/internal/store/records"
)

// TestWhatAnApplyPrints: an apply waits only while that helps. Its output tells whether a person has to act or other
// pods must end first.
func TestWhatAnApplyPrints(t *testing.T) {
	needs := func(memory string) api.LabSpec {
		spec := labOf(0, time.Hour)
		spec.Resources = &api.Resources{Reservations: &api.ResourceReservations{Memory: memory}}
		return spec
	}
	imaged := func(image string) api.LabSpec {
		spec := labOf(0, time.Hour)
		spec.Image = image
		return spec
	}
	lacking := labOf(0, time.Hour)
	lacking.Env = map[string]string{"API": "${ref.deployment.api.host}"}
	for name, c := range map[string]struct {
		spec   any
		node   func(*controltest.Node)
		after  time.Duration
		reason string // of Ready
		want   api.OutcomeState
	}{
		"its time has not come": {labOf(time.Hour, time.Hour), nil, time.Minute, api.ReasonScheduled,
			api.OutcomeConverged},
		"it runs":          {labOf(0, time.Hour), nil, time.Minute, api.ReasonRunning, api.OutcomeConverged},
		"its time is over": {labOf(0, time.Hour), nil, 2 * time.Hour, api.ReasonTimedOut, api.OutcomeConverged},
		"it ended with an error": {labOf(0, time.Hour), func(n *controltest.Node) { n.Lasts, n.Code = time.Minute, 7 },
			time.Hour, api.ReasonExited, api.OutcomeFailed},
		"it could not be started": {labOf(0, time.Hour), func(n *controltest.Node) { n.Rejects = 100 },
			500 * time.Millisecond, api.ReasonProvisioningFailed, api.OutcomePending},
		"nor after several tries": {labOf(0, time.Hour), func(n *controltest.Node) { n.Rejects = 100 }, time.Minute,
			api.ReasonProvisioningFailed, api.OutcomeFailed},
		"a node may yet connect":  {needs("100Gi"), nil, 4 * time.Second, api.ReasonTooLarge, api.OutcomePending},
		"too large for each node": {needs("100Gi"), nil, time.Minute, api.ReasonTooLarge, api.OutcomeHeld},
		"no node runs it":         {imaged("/srv/lab"), nil, time.Minute, api.ReasonNoRuntime, api.OutcomeHeld},
		"no such image":           {imaged("nowhere:1"), nil, time.Minute, "ImageNotFound", api.OutcomeFailed},
		"nothing is referred to":  {lacking, nil, time.Minute, api.ReasonUnresolvedReference, api.OutcomeFailed},
		"it can't be read": {map[string]any{"duration": 7}, nil, time.Minute, api.ReasonInvalidSpec,
			api.OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			inHarness(t, func(l *harness) {
				if c.node != nil {
					l.Node.Set(c.node)
				}
				l.Put(c.spec, linux)
				l.Pass(c.after)
				if ready := api.FindCondition(l.status(linux).Conditions,
					api.ConditionReady); ready.Reason != c.reason {
					t.Errorf("Ready is %+v, want %s", ready, c.reason)
				}
				controltest.Outcome(t, *l.Snapshot().Object(linux).Value, l.status(linux), c.want)
			})
		})
	}
}

// TestALabOfABackupNeedsAPerson: it may have run since, so an apply does not wait for it.
func TestALabOfABackupNeedsAPerson(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Put(labOf(time.Minute, time.Hour), linux)
		l.Write(func(txn *records.Txn) {
			object := *l.Snapshot().Object(linux).Value
			object.Metadata.Stamps = map[string]string{api.StampRestored: object.RestoredLab(time.Now().Add(time.Hour))}
			txn.Put(records.ObjectKey(linux), object)
		})
		l.Pass(2 * time.Minute)
		l.condition(linux, api.ConditionReady, api.ConditionFalse, api.ReasonRestored)
		controltest.Outcome(t, *l.Snapshot().Object(linux).Value, l.status(linux), api.OutcomeFailed)
	})
}
