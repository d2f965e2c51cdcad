package outcome

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
)

func TestUnmet(t *testing.T) {
	is := func(kind string, status api.ConditionStatus, reason, message string) api.Condition {
		return api.Condition{Type: kind, Status: status, Reason: reason, Message: message}
	}
	yes, no := api.ConditionTrue, api.ConditionFalse
	for name, test := range map[string]struct {
		conditions []api.Condition
		want       string // the reason
	}{
		"no conditions yet": {nil, ""},
		"ready": {[]api.Condition{is("Ready", yes, "Converged", "3 of 3"), is("Progressing", no, "Complete", ""),
			is("Degraded", no, "AsExpected", "")}, ""},
		"ready, while pods of before end": {[]api.Condition{is("Ready", yes, "Converged", "3 of 3"),
			is("Progressing", yes, "Stopping", "1 more still stopping")}, ""},
		"ready, and a person is to act": {[]api.Condition{is("Ready", yes, "Converged", "3 of 3"),
			is("Degraded", yes, "VolumeInUse", "another program writes")}, "VolumeInUse"},
		"it waits for a dependency": {[]api.Condition{is("Ready", no, "WaitingForDependency", "0 of 1"),
			is("Progressing", yes, "WaitingForDependency", "waiting for deployment/prod/db"),
			is("Degraded", no, "AsExpected", "")}, "WaitingForDependency"},
		"a failure before what goes on": {[]api.Condition{is("Ready", no, "EngineError", "0 of 1"),
			is("Progressing", yes, "EngineError", ""), is("Degraded", yes, "EngineError", "odd")}, "EngineError"},
		"a kind that only is ready or not": {[]api.Condition{is("Ready", no, "Opening", "about to listen"),
			is("Degraded", no, "AsExpected", "")}, "Opening"},
		"stopped on purpose": {[]api.Condition{is("Ready", no, "Frozen", "0 of 0; 1 stopped by a person"),
			is("Progressing", no, "Complete", "")}, "Frozen"},
	} {
		status, err := json.Marshal(map[string]any{"conditions": test.conditions, "pods": 3})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unmet(api.Object{Status: status})
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want == "" && got != nil:
			t.Errorf("%s: %+v", name, got)
		case test.want != "" && (got == nil || got.Reason != test.want || got.Message == ""):
			t.Errorf("%s: %+v, want %s", name, got, test.want)
		}
	}
}
