package workload

import (
	"testing"

	"tend.dev/tend/api"
)

// TestWhoDeclaredItGoesWithARelease: it says so as the object did when it was made, and so does its build.
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
	asked := l.snapshot().ImageRequest(l.ref)
	if !asked.Exists() || asked.Value.Build.Confined {
		t.Errorf("asked for %+v", asked.Value)
	}
}
