package kubetest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RecordingFile is the file for Flux's recorded reports, relative to this package's folder. `make record-flux` writes
// it.
const RecordingFile = "testdata/flux.json"

//go:embed testdata/flux.json
var recording []byte

// Step holds the reports of Flux's controllers at a step of a story, in order.
type Step struct {
	Name string `json:"name"`
	Said []Said `json:"said"`
}

// Said is the status of one of Flux's objects, without times.
type Said struct {
	Kind string `json:"kind"`
	// Lag is the number of generations that the status is behind the object.
	Lag        int64           `json:"lag,omitempty"`
	Conditions []SaidCondition `json:"conditions"`
	// Attempted is the chart's version that a HelmRelease was last made of or tried.
	Attempted string `json:"attempted,omitempty"`
	// History lists the revisions of a HelmRelease, the newest first, as "v2 1.1.0 deployed".
	History []string `json:"history,omitempty"`
}

// SaidCondition is a condition, without its time.
type SaidCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Lag is the number of generations that the condition is behind the object.
	Lag int64 `json:"lag,omitempty"`
}

// String returns the condition in the form of the tests: Ready=True/InstallSucceeded.
func (c SaidCondition) String() string { return c.Type + "=" + c.Status + "/" + c.Reason }

// SaidOf returns the status of one of Flux's objects.
func SaidOf(live *unstructured.Unstructured) Said {
	observed, _, _ := unstructured.NestedInt64(live.Object, "status", "observedGeneration")
	attempted, _, _ := unstructured.NestedString(live.Object, "status", "lastAttemptedRevision")
	said := Said{Kind: live.GetKind(), Lag: live.GetGeneration() - observed, Attempted: attempted}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, one := range conditions {
		values, _ := one.(map[string]any)
		text := func(key string) string { value, _ := values[key].(string); return value }
		generation, ok := values["observedGeneration"].(int64)
		if !ok {
			generation = observed
		}
		said.Conditions = append(said.Conditions, SaidCondition{
			Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message"), Lag: live.GetGeneration() - generation,
		})
	}
	history, _, _ := unstructured.NestedSlice(live.Object, "status", "history")
	for _, one := range history {
		values, _ := one.(map[string]any)
		said.History = append(said.History, fmt.Sprintf("v%v %v %v", values["version"], values["chartVersion"], values["status"]))
	}
	return said
}

// Recording returns what was recorded of Flux's controllers, step by step.
func Recording(t testing.TB) (steps []Step) {
	t.Helper()
	if err := json.Unmarshal(recording, &steps); err != nil {
		t.Fatalf("%s: %v", RecordingFile, err)
	}
	return steps
}

// Recorded fails the test unless Flux's controllers were once seen to report exactly these conditions of a kind
// together, given as type=status/reason. What a test plays must have come from the real ones.
func Recorded(t testing.TB, kind string, conditions ...string) {
	t.Helper()
	wanted := slices.Sorted(slices.Values(conditions))
	var seen []string
	for _, step := range Recording(t) {
		for _, said := range step.Said {
			if said.Kind != kind {
				continue
			}
			var have []string
			for _, c := range said.Conditions {
				have = append(have, c.String())
			}
			if slices.Sort(have); slices.Equal(have, wanted) {
				return
			}
			seen = append(seen, fmt.Sprint(have))
		}
	}
	slices.Sort(seen)
	t.Errorf("Flux was never seen to report %v of a %s: play one of these, or record another story with `make record-flux`: %v",
		wanted, kind, slices.Compact(seen))
}
