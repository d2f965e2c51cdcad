package controlplane

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestADryRunLooksAhead: it says more than the next step does.
func TestADryRunLooksAhead(t *testing.T) {
	w := newDryWorld(t)
	defer w.end()
	for kind, tc := range map[api.Kind]struct{ spec, want string }{
		api.KindDeployment: {`{"image":"web:1"}`,
			"resolve image web:1, make release v1 (first release), create a pod of v1"},
		api.KindJob: {`{"image":"web:1","run_on_release":true}`, "resolve image web:1, run it once"},
		api.KindLab: {`{"image":"web:1","start":"2026-11-28T14:00:00Z","duration":"1h"}`,
			"resolve image web:1, start at 2026-11-28T14:00:00Z, for 1h0m0s"},
	} {
		object := w.object(kind)
		object.Spec = []byte(tc.spec)
		said, err := w.Preview(w.snapshot().With([]api.Object{object}), object)
		if got := strings.Join(texts(said), ", "); err != nil || got != tc.want {
			t.Errorf("%s: the dry run says %q, %v; want %q", kind, got, err, tc.want)
		}
	}
}
