package cli

import (
	"testing"

	"tend.dev/tend/api"
)

// TestUnknownPodsAreShown: they are neither ready nor the opposite.
func TestUnknownPodsAreShown(t *testing.T) {
	for want, status := range map[string]api.WorkloadStatus{
		"2/3":            {Ready: 2, Replicas: 3},
		"2/3, 1 unknown": {Ready: 2, Replicas: 3, Unknown: 1},
	} {
		if got := replicasText(status); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
