package runtime

import (
	"errors"
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
