package daemon

import (
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestADryRunSaysWhatNoNodeTakes: tend diff warns of pods that would wait for ever. An apply stores them, and says so
// while it waits.
func TestADryRunSaysWhatNoNodeTakes(t *testing.T) {
	r := newMachine(t).start(nil).ready()
	r.until("the node has reported how large it is", func() bool {
		nodes, err := r.client.Nodes(t.Context())
		return err == nil && len(nodes.Items) == 1 && nodes.Items[0].MemoryBytes > 0
	})
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet, api.KindJob} {
		for memory, want := range map[string]string{
			"1000Ti": "no node has 1000Ti of memory; n1 has 8Gi: lower `resources.limits.memory` to what a node has",
			"6Mi":    "",
		} {
			object := api.Object{Kind: kind, Scope: "prod", Name: "big", Spec: fmt.Appendf(nil,
				`{"image":"web:1","resources":{"limits":{"memory":%q}}}`, memory)}
			result, err := r.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{object}, DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(result.Objects[0].Warnings, "\n"); got != want {
				t.Errorf("%s of %s: %q", kind, memory, got)
			}
		}
	}
}
