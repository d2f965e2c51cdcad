package volumes

import (
	"fmt"
	"path"
	"slices"

	"tend.dev/tend/api"
)

// mount is where a container has a volume, a folder of the host, or the volume of a claim.
type mount struct{ source, target, claim string }

// Moved returns a warning for each place at which the containers of a new spec have other data than those of the old
// one: a renamed volume or claim begins empty, and the data stays under the old name. A place that is mounted for
// reading alone doesn't count, and neither does one that is gone. was and is are the names of the object: the volumes
// of claims are named after it.
func Moved(was, is api.Ref, before, after api.WorkloadSpec) (out []string) {
	old, now := mountsOf(was, before), mountsOf(is, after)
	gone := slices.DeleteFunc(slices.Clone(old), func(m mount) bool { return slices.ContainsFunc(now, m.sameData) })
	added := slices.DeleteFunc(slices.Clone(now), func(m mount) bool { return slices.ContainsFunc(old, m.sameData) })
	for _, m := range added {
		at := slices.IndexFunc(gone, func(o mount) bool { return o.target == m.target })
		if at < 0 && len(gone) == 1 && len(added) == 1 { // renamed and mounted elsewhere
			at = 0
		}
		if at >= 0 {
			out = append(out, m.instead(gone[at]))
		}
	}
	return out
}

func (m mount) sameData(other mount) bool { return m.source == other.source }

// instead returns the warning that a mount took the place of another one.
func (m mount) instead(old mount) string {
	begins := "which begins empty if it is new"
	if path.IsAbs(m.source) {
		begins = "with what that has"
	}
	field, copied := "volumes", "copy it first: "
	if m.claim != "" && old.claim != "" {
		field, copied = "volume_claim", "copy it first, for each ordinal: "
	}
	return fmt.Sprintf("%s: %s is the %s now, %s; the data stays in the %s: keep the old name, or %s"+
		"docker run --rm -v %s:/from:ro -v %s:/to alpine cp -a /from/. /to", field, m.target, m.place(), begins, old.place(),
		copied, old.source, m.source)
}

func (m mount) place() string {
	if m.claim != "" {
		return fmt.Sprintf("claim %s (volume %s)", m.claim, m.source)
	}
	return place(m.source)
}

// mountsOf returns what a container of a spec mounts and may write to. Each claim has one volume for each ordinal; that
// of the first one stands for them.
func mountsOf(ref api.Ref, spec api.WorkloadSpec) (out []mount) {
	for _, v := range mountsBy(spec.DeploymentSpec) {
		out = append(out, mount{source: v.Source, target: path.Clean(v.Target)})
	}
	for _, claim := range spec.Claims {
		out = append(out, mount{
			source: api.ClaimVolume(ref, claim.Name, 0), target: path.Clean(claim.MountPath), claim: claim.Name,
		})
	}
	return out
}
