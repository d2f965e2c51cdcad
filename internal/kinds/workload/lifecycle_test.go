package workload

import (
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// The image is requested and found, a release is minted with its tasks in one commit, and the rest follows.
func TestFromSpecToConverged(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.looks()
	if request := l.snapshot().ImageRequest(web); !request.Exists() || request.Value.Image != "web:1" {
		t.Fatalf("the image was not asked for: %+v", request)
	}
	if c := l.condition(api.ConditionProgressing); c.Reason != api.ReasonResolvingImage {
		t.Errorf("before the image is known: %+v", c)
	}
	l.runAgent()
	l.looks()
	if n := len(l.live()); n != 3 || !l.snapshot().Release(web, "v1").Exists() {
		t.Fatalf("%d tasks, release %+v", n, l.snapshot().Release(web, "v1"))
	}
	if got := l.commits[len(l.commits)-1].Site; got != "deployment.release" {
		t.Errorf("the release and its tasks were committed at %s", got)
	}
	l.settle()
	if s := l.status(); s.Ready != 3 || s.Updated != 3 || s.Rollout.Phase != api.RolloutComplete ||
		s.Rollout.LastGoodRelease != "v1" {
		t.Errorf("settled: %+v", s)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

// Reconciling an up-to-date deployment writes nothing, however often.
func TestUnchangedStatusIsNeverWritten(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	before := len(l.commits)
	for range 5 {
		l.pass(60_000)
		if result := l.looks(); result.Revision != 0 {
			t.Fatalf("a reconcile wrote revision %d: %+v", result.Revision, l.commits[len(l.commits)-1])
		}
	}
	if len(l.commits) != before || len(l.c.Dirty(l.now)) != 0 {
		t.Errorf("%d commits, dirty %v", len(l.commits)-before, l.c.Dirty(l.now))
	}
}

// Defect: a status that says complete for a spec whose image was not looked up yet. The image of the release in force
// is used for a spec that names the same one only if it can't be had by name: see TestAVanishedTagBlocksNothing.
func TestNotReadyBeforeTheNewSpecsImageIsKnown(t *testing.T) {
	for name, test := range map[string]struct {
		image  string
		state  api.ImageState
		reason string
	}{
		"another image can't be had":       {"web:2", api.ImageFailed, "RegistryUnreachable"},
		"the same image is being pulled":   {"web:1", api.ImagePulling, "ResolvingImage"},
		"another image is being looked up": {"web:2", api.ImagePulling, "ResolvingImage"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(replicas(1, "web:1"))
			l.settle()
			answer := api.ImageStatus{Owner: web, Node: "n1", Image: test.image, State: test.state}
			if test.state == api.ImageFailed {
				answer.Reason, answer.Message = "RegistryUnreachable", "dial tcp"
			}
			l.write(func(txn *records.Txn) { txn.Put(records.ImageStatusKey("n1", web), answer) })
			spec := replicas(1, test.image)
			spec.Command = []string{"other"}
			l.apply(spec)
			l.looks()
			if c := l.condition(api.ConditionReady); c.Status != api.ConditionFalse || c.Reason != test.reason {
				t.Errorf("the new command isn't out, and Ready is %+v", c)
			}
			if len(l.live()) != 1 || l.status().Release != "v1" {
				t.Errorf("what was in force did not stay: %+v", l.status())
			}
			l.settle()
			if l.status().Release != "v2" {
				t.Errorf("settled on %s", l.status().Release)
			}
		})
	}
}

// A forced apply requests the image again and isn't complete before the answer.
func TestForcedApplyWaitsForItsAnswer(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	l.images["web:1"] = "sha256:moved"
	l.stamp(api.StampPull, "again")
	l.looks()
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionFalse || c.Reason != api.ReasonResolvingImage {
		t.Errorf("before the answer: %+v", c)
	}
	l.settle()
	if s := l.status(); s.ImageID != "sha256:moved" || s.Release != "v2" {
		t.Errorf("after it: %+v", s)
	}
}
