package api

import "time"

// ConditionStatus is the value of a condition: True, False, or Unknown while nothing has been observed.
type ConditionStatus string

// The three values of a condition.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// Condition is one statement about an object, with the reason as a CamelCase word and a message a person can act on.
type Condition struct {
	Type    string          `json:"type"`
	Status  ConditionStatus `json:"status"`
	Reason  string          `json:"reason"`
	Message string          `json:"message,omitempty"`
	// Next is the single next step that fixes a failure; empty if a person has nothing to do.
	Next string `json:"next,omitempty"`
	// LastTransitionTime moves only when Status changes.
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// The condition types of a workload.
const (
	// ConditionReady: every wanted pod runs the wanted release and is ready.
	ConditionReady = "Ready"
	// ConditionProgressing: a rollout or a scale is under way.
	ConditionProgressing = "Progressing"
	// ConditionDegraded: something failed and needs a person; the reason says what.
	ConditionDegraded = "Degraded"
	// ConditionAfterRollout: the commands that follow a rollout (release.post_command, post_deploy) succeeded for the
	// release in force. Unknown while they are to come or run; absent where there are none.
	ConditionAfterRollout = "AfterRollout"
)

// ConditionDiskPressure of a node: the disk of its container engine is nearly full, and it gets new pods only if no
// other node takes them.
const ConditionDiskPressure = "DiskPressure"

// SetCondition returns conditions with c in place of the one of its type, keeping the old transition time when the
// status did not change. The input is not modified.
func SetCondition(conditions []Condition, c Condition, now time.Time) []Condition {
	c.LastTransitionTime = now
	out := make([]Condition, 0, len(conditions)+1)
	placed := false
	for _, old := range conditions {
		if old.Type != c.Type {
			out = append(out, old)
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out = append(out, c)
		placed = true
	}
	if !placed {
		out = append(out, c)
	}
	return out
}

// FindCondition returns the condition of a type, or nil.
func FindCondition(conditions []Condition, conditionType string) *Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}
