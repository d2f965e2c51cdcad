package podlog

import "testing"

// TestAForgedOwnerHidesNothing: a pod names any owner it likes. One of a kind that the optional role lacks leaves
// out that pod alone, also in a group of which the role has kinds.
func TestAForgedOwnerHidesNothing(t *testing.T) {
	for version, kind := range map[string]string{"apps/v1": "ControllerRevision", "batch/v1": "Other", "apps/v2": "CronJob"} {
		c := newCluster(t)
		owner, forged := by("apps/v1", "ReplicaSet", "web-7d", "r1"), by(version, kind, "x", "u9")
		c.pod("web-7d-a", &owner, "app")
		c.pod("evil", &forged, "app")
		c.forbidden = []string{kind}
		c.want(asked, "web-7d-a/app: web-7d-a prints in app",
			"note: pods that a "+kind+" owns are left out: the operator may not read that kind")
	}
}
