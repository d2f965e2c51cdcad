package verbs

import (
	"context"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestVolumeInUse: an apply that would start a pod beside another writer is refused as a whole; one that starts none of
// them, and one that changes nothing, is stored.
func TestVolumeInUse(t *testing.T) {
	taken := map[string]bool{}
	w := newWorld(t, func(o *Options) {
		o.Occupied = func(_ context.Context, spec api.DeploymentSpec) (Occupied, bool) {
			for _, volume := range spec.Volumes {
				if taken[volume] {
					return Occupied{Detail: "the volume is in use: container x writes to it", Next: "docker stop x"},
						true
				}
			}
			return Occupied{}, false
		}
	})
	const mounted = `{"volumes":["db:/data"]}`
	w.mustApply(deployment("prod", "stored", mounted))
	taken["db:/data"] = true
	w.mustApply(deployment("prod", "stored", mounted))
	w.mustApply(deployment("prod", "idle", `{"volumes":["db:/data"],"replicas":0}`))
	w.mustApply(deployment("prod", "other", `{"volumes":["cache:/data"]}`))

	for name, spec := range map[string]string{"new": mounted, "stored": `{"volumes":["db:/data"],"image":"web:2"}`} {
		for _, dry := range []bool{false, true} {
			_, err := w.apply(ApplyOptions{DryRun: dry}, deployment("prod", name, spec),
				deployment("prod", "beside-"+name, `{}`))
			refused := wantReason(t, err, VolumeInUse)
			if refused.Next != "docker stop x" || refused.Errors[0].Field != "volumes" ||
				!strings.Contains(refused.Errors[0].Detail, "container x") {
				t.Errorf("%s: %+v", name, refused)
			}
		}
		snap, err := w.service.opts.Reader.Fresh(t.Context())
		if err != nil || snap.Object(ref("prod", "beside-"+name)).Exists() {
			t.Errorf("%s: a part of the refused apply was stored (%v)", name, err)
		}
	}
}
