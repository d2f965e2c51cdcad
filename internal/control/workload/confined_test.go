package workload

import (
	"testing"

	"tend.dev/tend/api"
)

// TestWhoDeclaredItGoesWithARelease: what a deployer declared stays confined, also once it is rolled back to, and so does the
// build of its source.
func TestWhoDeclaredItGoesWithARelease(t *testing.T) {
	l := newHarness(t)
	l.apply(l.builtSpec(1, "a", "b"))
	l.stamp(api.StampConfined, "true")
	l.source("a")
	l.wantBuild("v1", "a", "first release")
	if got := l.inForce(); !got.Confined || !got.Build.Confined {
		t.Errorf("what a deployer declared: %+v", got)
	}
	l.stamp(api.StampConfined, "")
	l.source("b")
	l.wantBuild("v2", "b", "source changed")
	if got := l.inForce(); got.Confined || got.Build.Confined {
		t.Errorf("what an admin declared: %+v", got)
	}
	l.rollBack("v1")
	l.source("a")
	l.wantBuild("v3", "a", "rollback to v1")
	asked := l.snapshot().ImageRequest(l.ref)
	if got := l.inForce(); !got.Confined || !asked.Exists() || !asked.Value.Build.Confined {
		t.Errorf("back to what a deployer declared: %+v, asked for %+v", got, asked.Value)
	}
}
