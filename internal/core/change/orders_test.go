package change_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
)

// TestOrders: what people ask of a lab is in its history, though its spec stays.
func TestOrders(t *testing.T) {
	hour := &api.LabOrders{OwnerUID: "u", Extended: time.Hour}
	for name, c := range map[string]struct {
		reason    string
		old, next *api.LabOrders
		want      []string
	}{
		"more time": {"the first", nil, hour, []string{`updated extended:"0s":"1h0m0s"`}},
		"more still": {"the sum", hour, &api.LabOrders{OwnerUID: "u", Extended: 90 * time.Minute},
			[]string{`updated extended:"1h0m0s":"1h30m0s"`}},
		"end": {"who asked is the event's author", hour,
			&api.LabOrders{OwnerUID: "u", Extended: time.Hour, StoppedBy: "ada"}, []string{`updated stopped::true`}},
		"nothing": {"the same again", hour, hour, nil},
		"another's orders": {"those of a lab that had the name don't count",
			&api.LabOrders{OwnerUID: "v", Extended: 9 * time.Hour, StoppedBy: "x"}, hour,
			[]string{`updated extended:"0s":"1h0m0s"`}},
	} {
		if diff := cmp.Diff(c.want, short(change.Orders(*object(`{}`), c.old, c.next))); diff != "" {
			t.Errorf("%s: %s: %s", name, c.reason, diff)
		}
	}
}

// TestTheEndOfALabIsAnOutcome: how it ended follows the change of its status, whether that is as it should be or not.
func TestTheEndOfALabIsAnOutcome(t *testing.T) {
	lab := *object(`{}`)
	lab.Kind = api.KindLab
	status := func(phase api.LabPhase, reason, message string) json.RawMessage {
		raw, _ := json.Marshal(api.LabStatus{ObservedGeneration: 1, Phase: phase, Reason: reason, Message: message})
		return raw
	}
	running := status(api.LabRunning, "Running", "ends soon")
	for phase, want := range map[api.LabPhase]string{
		api.LabCompleted: "reconciled because Stopped: stopped by ada",
		api.LabTimeout:   "reconciled because Stopped: stopped by ada",
		api.LabFailed:    "reconciliation.failed because Stopped: stopped by ada",
	} {
		ended := status(phase, "Stopped", "stopped by ada")
		if got := short(change.Status(lab, running, ended)); len(got) != 2 || got[1] != want {
			t.Errorf("%s: %q, want %q", phase, got, want)
		}
		later := status(phase, "Stopped", "stopped by ada, and gone")
		if got := short(change.Status(lab, ended, later)); len(got) != 0 {
			t.Errorf("%s: it ends again: %q", phase, got)
		}
	}
}
