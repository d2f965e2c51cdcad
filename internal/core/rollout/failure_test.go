package rollout

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// TestExplainsALoopByItsCause: what a loop is known to come from is the reason, since ending that ends the loop.
func TestExplainsALoopByItsCause(t *testing.T) {
	for name, tc := range map[string]struct{ why, reason, want string }{
		"memory":  {"its limit may be raised", api.ReasonOOMKilled, api.ReasonOOMKilled},
		"volume":  {"another program writes to its volume", api.ReasonVolumeInUse, api.ReasonVolumeInUse},
		"unready": {"it is the loop that keeps it from being ready", api.ReasonUnready, api.ReasonCrashLoop},
	} {
		p := &planner{}
		slot := &Slot{CrashLoop: true, Reason: tc.reason, Message: "3 exits in 50s"}
		if got, message := p.explain(slot); got != tc.want || message != slot.Message {
			t.Errorf("%s: %s: %s %q, want %s", name, tc.why, got, message, tc.want)
		}
	}
}

// TestWhatIsLateIsNotStarting: a slot that is given up is no longer said to be starting.
func TestWhatIsLateIsNotStarting(t *testing.T) {
	p := &planner{}
	p.desired.Strategy.Deadline = time.Minute
	slot := &Slot{State: api.TaskRunning, Message: probe.Starting + "readiness: :80 refuses connections"}
	const want = "not ready within 1m0s (strategy.deadline): readiness: :80 refuses connections"
	if reason, message := p.explain(slot); reason != "DeadlineExceeded" || message != want {
		t.Errorf("%s: %s, want %s", reason, message, want)
	}
}
