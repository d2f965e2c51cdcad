package volumes

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// Two claims have a prefix in common if, and only if, they have the name of a volume in common.
func TestClaimedIsWhatNamesJoinTo(t *testing.T) {
	label := rapid.StringMatching(`[ab0]([-ab01]{0,4}[ab01])?`)
	rapid.Check(t, func(t *rapid.T) {
		var names [2]map[string]bool
		var prefixes [2]string
		for i := range names {
			ref := api.Ref{Kind: api.KindStatefulSet, Scope: label.Draw(t, "scope"), Name: label.Draw(t, "name")}
			claim := label.Draw(t, "claim")
			spec, _ := json.Marshal(api.StatefulSetSpec{VolumeClaims: []api.VolumeClaim{{Name: claim, MountPath: "/d"}}})
			object := api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}
			prefixes[i], names[i] = Claimed(object)[claim], map[string]bool{}
			for n := range 12 {
				name := strings.Join([]string{"tend", ref.Scope, ref.Name, claim, strconv.Itoa(n)}, "-")
				names[i][name] = true
			}
		}
		shared := false
		for name := range names[0] {
			shared = shared || names[1][name]
		}
		if shared != (prefixes[0] == prefixes[1]) {
			t.Errorf("%v and %v: %q, %q", names[0], names[1], prefixes[0], prefixes[1])
		}
	})
}
