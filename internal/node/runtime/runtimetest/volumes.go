package runtimetest

import (
	"context"
	"errors"
	"maps"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// testVolumes: a volume outlives its container, may be created twice, and can be removed only when nothing uses it, and
// only for its own claim.
func testVolumes(f *fixture) {
	name := "tendtest-" + random()
	labels := map[string]string{
		"tendtest": "1", api.LabelKind: string(api.KindStatefulSet),
		api.LabelScope: "a", api.LabelName: "b-c", api.LabelClaim: "d",
	}
	f.Cleanup(func() { _ = f.runtime.RemoveVolume(context.WithoutCancel(f.Context()), name, labels) })
	ensure := func() { f.noError("make volume", f.runtime.EnsureVolume(f.Context(), name, labels)) }
	ensure()
	ensure()
	spec := f.spec()
	spec.Spec.Volumes = append(spec.Spec.Volumes, name+":/data")
	container := f.create(spec)
	if err := f.runtime.RemoveVolume(f.Context(), name, labels); err == nil {
		f.Error("a volume that a container holds was removed")
	}
	f.noError("remove container", f.runtime.Remove(f.Context(), container.ID))
	f.staysWithItsClaim(name, labels)
	f.noError("remove volume", f.runtime.RemoveVolume(f.Context(), name, labels))
	f.noError("remove volume again", f.runtime.RemoveVolume(f.Context(), name, labels))
}

// staysWithItsClaim finds a volume removed, or given, to a claim that has its name but for one of its labels.
func (f *fixture) staysWithItsClaim(name string, labels map[string]string) {
	f.Helper()
	for _, label := range []string{api.LabelKind, api.LabelScope, api.LabelName, api.LabelClaim} {
		other := maps.Clone(labels)
		other[label] = "other"
		var rejected *runtime.RejectedError
		if err := f.runtime.RemoveVolume(f.Context(), name, other); !errors.As(err, &rejected) {
			f.Errorf("removed for another claim (%s): %v", label, err)
		}
		if err := f.runtime.EnsureVolume(f.Context(), name, other); !errors.As(err, &rejected) { // it is there
			f.Errorf("given to another claim (%s): %v", label, err)
		}
	}
}
