package runtime

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

func TestCheckVolume(t *testing.T) {
	labels := func(scope, name, claim string) map[string]string {
		return map[string]string{api.LabelScope: scope, api.LabelName: name, api.LabelClaim: claim, api.LabelOrdinal: "0"}
	}
	wanted := labels("bank-db", "x", "y")
	for name, tc := range map[string]struct {
		reason string
		have   map[string]string
		want   string
	}{
		"new":           {"it was made with them", wanted, ""},
		"a user's":      {"made by hand, for its data", map[string]string{"backup": "daily"}, ""},
		"another scope": {"bank/db has a claim x-y", labels("bank", "db", "x-y"), "the claim x-y of statefulset/bank/db"},
		"another claim": {"of the scope itself", labels("bank-db", "x", "z"), "the claim z of statefulset/bank-db/x"},
	} {
		err := CheckVolume("tend-bank-db-x-y-0", tc.have, wanted)
		var rejected *RejectedError
		if (err == nil) != (tc.want == "") ||
			err != nil && (!errors.As(err, &rejected) || rejected.Next == "" || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
	}
}

func TestCheckRemoval(t *testing.T) {
	wanted := map[string]string{
		api.LabelCluster: "c1", api.LabelKind: "statefulset", api.LabelScope: "bank-db", api.LabelName: "x", api.LabelClaim: "y",
	}
	for name, tc := range map[string]struct {
		reason, label, value string
		removed              bool
	}{
		"its own":         {"", api.LabelCluster, "c1", true},
		"another cluster": {"two clusters may share an engine", api.LabelCluster, "c2", false},
		"another kind":    {"only statefulsets have claims today", api.LabelKind, "queue", false},
		"another scope":   {"the names join to one", api.LabelScope, "bank", false},
		"another name":    {"the same", api.LabelName, "db", false},
		"another claim":   {"the same", api.LabelClaim, "x-y", false},
	} {
		have := maps.Clone(wanted)
		have[tc.label] = tc.value
		err := CheckRemoval("tend-bank-db-x-y-0", have, wanted)
		if (err == nil) != tc.removed {
			t.Errorf("%s: %s: %v", name, tc.reason, err)
		}
		if err != nil && strings.Contains(err.Error(), "docker volume rm") {
			t.Errorf("%s: it suggests to remove what is another's: %v", name, err)
		}
	}
	if err := CheckRemoval("data", map[string]string{"backup": "daily"}, wanted); err != nil {
		t.Errorf("a volume that was made by hand for the claim: %v", err)
	}
}
