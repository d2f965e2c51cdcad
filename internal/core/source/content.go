package source

import (
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// File is a file of a source.
type File struct {
	Path string
	// Modified is when it was last changed, in nanoseconds since 1970, where the source says so; 0 where not.
	Modified int64
	// Digest identifies its content.
	Digest string
}

const nextTrust = "leave it out of the source, or set trusted if everyone who can change the source may use this machine"

// Refuse returns why a sync may not apply an object; nil if it may. A source that is not trusted is changed by people who
// need not be users of the host: it may neither reach the host nor decide about the cluster.
func Refuse(object api.Object, trusted bool) *Error {
	ref := object.Ref()
	if !object.Kind.Core() {
		return NewFault(api.ReasonNotAllowed, "put the objects that it stands for into the source (tend diff shows them)",
			"%s is a macro, and a sync runs no plugin", ref)
	}
	if !trusted && object.Kind.Info().Scope == api.ScopeNone {
		return NewFault(api.ReasonNotAllowed, nextTrust, "%s concerns the whole cluster, and the source is not trusted", ref)
	}
	if !object.Kind.HasContainers() {
		return nil
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	switch {
	case err != nil:
		return NewFault(api.ReasonInvalidManifests, "correct the manifest", "%s: %s", ref, err)
	case spec.Build != nil || spec.Image == "":
		return NewFault(api.ReasonNotAllowed, "build the image elsewhere, push it to a registry, and name it in image",
			"%s is built from source, and a sync builds nothing", ref)
	case trusted:
		return nil
	}
	if field := reachesHost(spec); field != "" {
		return NewFault(api.ReasonNotAllowed, nextTrust, "%s: %s reaches the host, and the source is not trusted", ref, field)
	}
	return nil
}

// reachesHost returns the field by which a workload reaches more of its host than a container does; empty if none does.
func reachesHost(s api.WorkloadSpec) string {
	for _, f := range []struct {
		field string
		does  bool
	}{
		{"image", strings.HasPrefix(s.Image, "/")}, // a folder, for the process runtime
		{"volumes", slices.ContainsFunc(s.Volumes, isHostFolder)},
		{"devices", len(s.Devices) > 0},
		{"cap_add", len(s.CapAdd) > 0},
		{"security_opt", len(s.SecurityOpt) > 0},
		{"network_mode", s.NetworkMode == "host"},
		{"docker_options", len(s.DockerOptions) > 0},
		{"init.docker_options", slices.ContainsFunc(s.Inits, func(i api.Init) bool { return len(i.DockerOptions) > 0 })},
		{"init.image", slices.ContainsFunc(s.Inits, func(i api.Init) bool { return strings.HasPrefix(i.Image, "/") })},
	} {
		if f.does {
			return f.field
		}
	}
	return ""
}

func isHostFolder(entry string) bool {
	volume, err := api.ParseVolume(entry)
	return err != nil || !volume.Named()
}
