package api

import "strconv"

// StatefulSetSpec declares a long-running workload whose replicas have an identity: the ordinals 0 to replicas-1. Its
// fields are a deployment's, with volumes of their own for every ordinal; autoscale and post_deploy are refused.
type StatefulSetSpec struct {
	DeploymentSpec
	// VolumeClaims are volumes that every ordinal has one of. Tend never deletes them.
	VolumeClaims []VolumeClaim `json:"volume_claims,omitempty" hcl:"volume_claim,block"`
}

// VolumeClaim is a named volume of each ordinal.
type VolumeClaim struct {
	// Name is a DNS label, unique among the claims.
	Name string `json:"name" hcl:"name,label"`
	// MountPath is the absolute path it is mounted at.
	MountPath string `json:"mount_path" hcl:"mount_path"`
	// Size is shown to people and never enforced: local volumes have no size.
	Size string `json:"size,omitempty" hcl:"size,optional"`
}

// Ordinal is the ordinal a task fills. ok is false where it fills none: it isn't a statefulset's, or runs for a
// release.
func (t Task) Ordinal() (n int, ok bool) {
	if t.Kind != KindStatefulSet || t.Role != RoleMain || t.Run != "" {
		return 0, false
	}
	n, err := strconv.Atoi(t.Slot)
	return n, err == nil && n >= 0
}

// ClaimVolume is the name of an ordinal's volume: tend-<scope>-<name>-<claim>-<ordinal>.
func ClaimVolume(r Ref, claim string, ordinal int) string {
	return "tend-" + r.AppID() + "-" + claim + "-" + strconv.Itoa(ordinal)
}
