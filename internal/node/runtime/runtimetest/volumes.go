package runtimetest

import "context"

// testVolumes: a volume outlives its container, may be created twice, and can be removed only when nothing uses it.
func testVolumes(f *fixture) {
	name := "tendtest-" + random()
	f.Cleanup(func() { _ = f.runtime.RemoveVolume(context.WithoutCancel(f.Context()), name) })
	ensure := func() {
		f.noError("make volume", f.runtime.EnsureVolume(f.Context(), name, map[string]string{"tendtest": "1"}))
	}
	ensure()
	ensure()
	spec := f.spec()
	spec.Spec.Volumes = append(spec.Spec.Volumes, name+":/data")
	container := f.create(spec)
	if err := f.runtime.RemoveVolume(f.Context(), name); err == nil {
		f.Error("a volume that a container holds was removed")
	}
	f.noError("remove container", f.runtime.Remove(f.Context(), container.ID))
	f.noError("remove volume", f.runtime.RemoveVolume(f.Context(), name))
	f.noError("remove volume again", f.runtime.RemoveVolume(f.Context(), name))
}
