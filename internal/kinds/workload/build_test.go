package workload

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// tree returns a digest made of a letter; image the image built from it.
func tree(letter string) string { return "sha256:" + strings.Repeat(letter, 64) }

func (l *harness) image(letter string) string {
	return api.NewImageBuild(tree(letter), api.Build{}).Image(l.ref)
}

// source stamps the deployment with a tree, as an apply does.
func (l *harness) source(letter string) {
	l.Helper()
	l.stamp(api.StampBuild, tree(letter))
}

// builtSpec returns a deployment that is built, and lets the nodes build the trees of these letters.
func (l *harness) builtSpec(n int, letters ...string) api.DeploymentSpec {
	for _, letter := range letters {
		l.images[l.image(letter)] = "sha256:of-" + letter
	}
	spec := replicas(n, "")
	spec.Build = &api.Build{}
	return spec
}

func (l *harness) wantBuild(release, letter, why string) {
	l.Helper()
	l.settle()
	got := l.inForce()
	if got == nil || got.ID != release || got.Reason != why || got.Image != l.image(letter) ||
		got.Build.Name() != strings.Repeat(letter, 12) ||
		got.ImageID != "sha256:of-"+letter {
		l.Errorf("in force is %+v, want %s of tree %s because %q", got, release, letter, why)
	}
	if ready := l.condition(api.ConditionReady); ready.Status != api.ConditionTrue {
		l.Errorf("not ready: %s: %s", ready.Reason, ready.Message)
	}
}

func TestAnotherTreeRolls(t *testing.T) {
	l := newHarness(t)
	l.apply(l.builtSpec(2, "a", "b"))
	l.source("a")
	l.wantBuild("v1", "a", "first release")
	l.source("b")
	l.wantBuild("v2", "b", "source changed")
	l.source("a")
	l.wantBuild("v3", "a", "source changed")
	l.rollBack("v2")
	l.source("b") // as the rollback does
	l.wantBuild("v4", "b", "rollback to v2")
}

// TestWithoutATreeNothingIsAsked: the object waits, and says what for.
func TestWithoutATreeNothingIsAsked(t *testing.T) {
	l := newHarness(t)
	l.apply(l.builtSpec(1))
	l.settle()
	if request := l.snapshot().ImageRequest(l.ref); request.Exists() {
		t.Errorf("asked for %+v", request.Value)
	}
	l.is(api.ConditionReady, api.ConditionFalse, api.ReasonResolvingImage, "0 of 1 replicas ready")
	l.is(api.ConditionProgressing, api.ConditionTrue, api.ReasonResolvingImage, "tend apply")
}

// TestATreeThatFailsLeavesWhatRuns: the running pods stay, and Ready is about the newest tree though the spec is the
// same.
func TestATreeThatFailsLeavesWhatRuns(t *testing.T) {
	l := newHarness(t)
	l.apply(l.builtSpec(2, "a"))
	l.source("a")
	l.wantBuild("v1", "a", "first release")
	before := len(l.live())
	l.source("c")
	l.settle()
	if got := l.inForce(); got == nil || got.ID != "v1" || len(l.live()) != before {
		t.Errorf("in force is %+v with %d tasks", got, len(l.live()))
	}
	if ready := l.condition(api.ConditionReady); ready.Status != api.ConditionFalse {
		t.Error("ready, although the newest source can't be had")
	}
	if degraded := l.condition(api.ConditionDegraded); degraded.Status != api.ConditionTrue {
		t.Errorf("%+v", degraded)
	}
}

// TestWhileATreeIsBuiltItsStepIsShown: the status shows how far the build is.
func TestWhileATreeIsBuiltItsStepIsShown(t *testing.T) {
	l := newHarness(t)
	l.apply(l.builtSpec(1, "a"))
	l.source("a")
	o := l.observed()
	o.images = []records.Read[api.ImageStatus]{{Value: &api.ImageStatus{Owner: l.ref, Node: "n1", Image: l.image("a"),
		State: api.ImageBuilding, Step: "2/3 RUN make"}}}
	got := o.progress(assessment{target: target{awaits: true}})
	if got.Reason != "Building" || got.Status != api.ConditionTrue ||
		!strings.HasSuffix(got.Message, "on node n1: 2/3 RUN make") {
		t.Errorf("%+v", got)
	}
}
