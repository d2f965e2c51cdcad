package kubetest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RecordingFile is where `make record-flux` writes what Flux's controllers say, from the folder of this package.
const RecordingFile = "testdata/flux.json"

//go:embed testdata/flux.json
var recording []byte

// Step is what Flux's controllers said, one status after the other, at a step of a story.
type Step struct {
	Name string `json:"name"`
	Said []Said `json:"said"`
}

// Said is the status of an object of Flux, without its times.
type Said struct {
	Kind string `json:"kind"`
	// Lag is by how many generations the status is behind the object.
	Lag        int64           `json:"lag,omitempty"`
	Conditions []SaidCondition `json:"conditions"`
	// Attempted is the chart's version that a HelmRelease was made of last, or tried.
	Attempted string `json:"attempted,omitempty"`
	// History are the revisions of a HelmRelease, the newest first, as "v2 1.1.0 deployed".
	History []string `json:"history,omitempty"`
}

// SaidCondition is a condition, without its time.
type SaidCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Lag is by how many generations the condition is behind the object.
	Lag int64 `json:"lag,omitempty"`
}

// String returns the condition as tests write it: Ready=True/InstallSucceeded.
func (c SaidCondition) String() string { return c.Type + "=" + c.Status + "/" + c.Reason }

// SaidOf reads the status of an object of Flux.
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

// Recorded fails the test if Flux's controllers were never seen to say just these conditions of a kind at one time, each given
// as type=status/reason. What a test plays must have been said by the real ones.
func Recorded(t testing.TB, kind string, conditions ...string) {
	t.Helper()
	var steps []Step
	if err := json.Unmarshal(recording, &steps); err != nil {
		t.Fatalf("%s: %v", RecordingFile, err)
	}
	wanted := slices.Sorted(slices.Values(conditions))
	var seen []string
	for _, step := range steps {
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
	t.Errorf("Flux was never seen to say %v of a %s: play one of these, or record another story by `make record-flux`: %v",
		wanted, kind, slices.Compact(seen))
}
