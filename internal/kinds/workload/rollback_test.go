package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// rollBack does what the API does: the release's spec as a new generation, replicas untouched, and stamps.
func (l *harness) rollBack(id string) {
	l.Helper()
	l.returnTo(id)
	l.stamp(api.StampRollbackConfig, api.RollbackKeepsConfig)
}

// rollBackWithConfig returns to the environment of the release too.
func (l *harness) rollBackWithConfig(id string) {
	l.Helper()
	l.returnTo(id)
	_, over, _ := l.c.env.Since(l.snapshot(), *l.snapshot().Object(web).Value, *l.snapshot().Release(web, id).Value)
	l.stamp(api.StampRollbackConfig, over)
}

// returnTo stamps as versions did whose rollbacks took the environment along.
func (l *harness) returnTo(id string) {
	l.Helper()
	object := *l.snapshot().Object(web).Value
	var was, spec api.DeploymentSpec
	for raw, into := range map[string]*api.DeploymentSpec{string(object.Spec): &was,
		string(l.snapshot().Release(web, id).Value.Spec): &spec} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			l.Fatal(err)
		}
	}
	spec.Replicas = was.Replicas
	l.apply(spec)
	l.stamp(api.StampRollback, id)
}

func (l *harness) inForce() *api.Release {
	l.Helper()
	return l.snapshot().Release(web, l.status().Release).Value
}

func TestRollbackPinsImageAndEnvironment(t *testing.T) {
	l := newHarness(t)
	l.config("apps/prod/web/MODE", "good")
	l.apply(replicas(2, "web:1"))
	l.settle()
	first := l.inForce()
	l.config("apps/prod/web/MODE", "bad")
	l.apply(replicas(4, "web:2"))
	l.settle()
	l.images["web:1"] = "sha256:moved since"

	l.rollBackWithConfig("v1")
	l.settle()
	got := l.inForce()
	if got.ID == "v1" || got.RolledBackFrom != "v1" || got.SpecHash != first.SpecHash {
		t.Fatalf("in force is %+v", got)
	}
	if got.ImageID != first.ImageID || got.EnvHash != first.EnvHash || string(got.Env) != string(first.Env) {
		t.Errorf("image %s and environment %s are not those of v1", got.ImageID, got.Env)
	}
	if first.ImageArch != "amd64" || got.ImageArch != first.ImageArch {
		t.Errorf("the image is for %q, that of v1 for %q", got.ImageArch, first.ImageArch)
	}
	if l.status().Replicas != 4 {
		t.Errorf("a rollback scaled to %d", l.status().Replicas)
	}
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

// pausing is a deployment whose rollout pauses at a failure.
func pausing(image string) api.DeploymentSpec {
	spec := replicas(3, image)
	spec.Strategy = &api.Strategy{OnFailure: api.OnFailurePause}
	return spec
}

// A rollback in the middle of a rollout leaves alone the pods that still run the release it returns to.
func TestRollbackKeepsPodsThatRunIt(t *testing.T) {
	l := newHarness(t)
	l.apply(pausing("web:1"))
	l.settle()
	before := map[string]bool{}
	for _, task := range l.live() {
		before[task.ID] = true
	}
	l.fails["v2"] = true
	l.apply(pausing("web:2"))
	for range 300 { // a paused rollout retries for ever
		l.looks()
		l.place()
		l.runAgent()
		l.pass(100)
	}
	if l.status().Rollout.Phase != api.RolloutPaused || l.status().Outcomes["v2"].Reason != "InvalidMount" ||
		!l.status().Outcomes["v1"].Good {
		t.Fatalf("after the failure: %+v", l.status())
	}
	kept := 0
	for _, task := range l.live() {
		if before[task.ID] {
			kept++
		}
	}
	if kept == 0 {
		t.Fatal("no pod of v1 is left, so nothing is shown here")
	}
	l.rollBack("v1")
	l.settle()
	for _, task := range l.live() {
		if before[task.ID] {
			kept--
		}
	}
	if s := l.status(); kept != 0 || s.Updated != 3 || s.Rollout.Phase != api.RolloutComplete ||
		s.Rollout.LastGoodRelease != s.Release {
		t.Errorf("%d pods of v1 were replaced; %+v, rollout %+v", kept, s, s.Rollout)
	}
}

// A return to a release that failed is another attempt: the earlier failure doesn't count.
func TestRollbackToWhatFailedIsTriedAgain(t *testing.T) {
	l := newHarness(t)
	l.apply(pausing("web:1"))
	l.settle()
	l.fails["v2"] = true
	l.apply(pausing("web:2"))
	for range 30 {
		l.looks()
		l.place()
		l.runAgent()
		l.pass(100)
	}
	if l.status().Rollout.Phase != api.RolloutPaused {
		t.Fatalf("after the failure: %+v", l.status().Rollout)
	}
	l.rollBack("v1")
	l.settle()
	l.rollBack("v2") // v4, which doesn't fail
	for range 300 {
		l.looks()
		if s := l.status(); s.Rollout.Phase == api.RolloutPaused || s.Outcomes["v4"].Reason != "" {
			t.Fatalf("it is %+v before anything of it failed, with %+v", s.Rollout, s.Outcomes["v4"])
		}
		l.place()
		l.runAgent()
		l.pass(100)
	}
	if s := l.status(); s.Release != "v4" || s.Updated != 3 || s.Rollout.Phase != api.RolloutComplete {
		t.Errorf("it ended as %+v, rollout %+v", s, s.Rollout)
	}
}

// A stamp whose release is gone doesn't block the rollout.
func TestRollbackToAReleaseThatIsGone(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.stamp(api.StampRollback, "v9")
	l.settle()
	if c := l.condition(api.ConditionReady); c.Status != api.ConditionTrue || l.status().Release != "v1" {
		t.Errorf("%s, %+v", l.status().Release, c)
	}
}

func TestAutomaticRollback(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	l.fails["v2"] = true
	l.apply(replicas(3, "web:2"))
	l.settle()
	s := l.status()
	if s.Release != "v1" || s.Rollout.Phase != api.RolloutRolledBack || s.Rollout.Failed == nil ||
		s.Rollout.Failed.Release != "v2" {
		t.Fatalf("after the failure: %+v, rollout %+v", s, s.Rollout)
	}
	if s.Rollout.Failed.Reason != "InvalidMount" || s.Rollout.Failed.Generation != 2 || s.Ready != 3 {
		t.Errorf("it says %+v, %d are ready", s.Rollout.Failed, s.Ready)
	}
	if got := s.Outcomes; !got["v1"].Good || got["v2"].Good || got["v2"].Reason != "InvalidMount" {
		t.Errorf("the outcomes are %+v", got)
	}
	if planned := l.preview(replicas(3, "web:2")); planned["keep"] != 1 || len(planned) != 1 {
		t.Errorf("a dry run says %v; want that it stays on v1", planned)
	}
	if desired := l.snapshot().Object(web).Value; desired.Metadata.Generation != 2 {
		t.Errorf("the rollback wrote the object: generation %d", desired.Metadata.Generation)
	}
}

// The last lines of the slot that failed can arrive after the rollback began: the status adds them then.
func TestLinesFollowARollback(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(3, "web:1"))
	l.settle()
	l.fails["v2"] = true
	l.apply(replicas(3, "web:2"))
	l.settle()
	for _, task := range l.snapshot().TasksOf(web) {
		status := l.snapshot().TaskStatus(task.Value.ID)
		if task.Value.Release == "v2" && status.Exists() {
			notified := *status.Value
			notified.LastLog = []string{"cannot open /data"}
			l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(notified.ID), notified) })
		}
	}
	l.settle()
	if failed := l.status().Rollout.Failed; failed == nil || len(failed.LastLog) != 1 {
		t.Errorf("recorded: %+v", failed)
	}
	if c := l.condition(api.ConditionDegraded); !strings.Contains(c.Message, "cannot open /data") {
		t.Errorf("notified: %+v", c)
	}
}

// After an automatic rollback, the spec isn't tried again until something of it changes.
func TestAfterAnAutomaticRollback(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		change func(*harness)
		tried  bool   // a task of a release other than the good one was made
		ends   string // the release in force
	}{
		"time":     {"time alone changes nothing", func(l *harness) { l.pass(3_600_000) }, false, "v1"},
		"again":    {"nor does the same manifest", func(l *harness) { l.apply(replicas(3, "web:2")) }, false, "v1"},
		"old spec": {"the old one churns nothing", func(l *harness) { l.apply(replicas(3, "web:1")) }, false, "v1"},
		"there and back": {"the same manifest after another one, with the cause gone", func(l *harness) {
			l.apply(replicas(3, "web:1"))
			l.settle()
			delete(l.fails, "v2")
			l.apply(replicas(3, "web:2"))
		}, true, "v2"},
		"forced":  {"an apply with --force does", func(l *harness) { l.stamp(api.StampPull, "1") }, true, "v1"},
		"restart": {"a restart tries it again", func(l *harness) { l.stamp(api.StampRestart, "1") }, true, "v1"},
		"new image": {"so does an image behind the tag", func(l *harness) { l.images["web:2"] = "sha256:fixed" }, true,
			"v3"},
		"config": {"and an environment", func(l *harness) { l.config("apps/prod/web/A", "1") }, true, "v3"},
		"same image": {"also where the image is the same", func(l *harness) {
			spec := replicas(3, "web:2")
			spec.Command = []string{"fixed"}
			l.apply(spec)
		}, true, "v3"},
		"fix": {"and a corrected manifest", func(l *harness) { l.apply(replicas(3, "web:3")) }, true, "v3"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(replicas(3, "web:1"))
			l.settle()
			l.fails["v2"] = true
			l.apply(replicas(3, "web:2"))
			l.settle()
			drawn, kept := l.drawn, l.live()
			test.change(l)
			l.settle()
			if tried := l.drawn != drawn; tried != test.tried {
				t.Errorf("%s: tasks were made: %v", test.reason, tried)
			}
			if got := l.status(); got.Release != test.ends || got.Ready != 3 {
				t.Errorf("%s: it ended on %s with %d ready", test.reason, got.Release, got.Ready)
			}
			if now := l.live(); !test.tried && (len(now) != len(kept) || now[0].ID != kept[0].ID) {
				t.Errorf("%s: tasks went from %v to %v", test.reason, kept, now)
			}
		})
	}
}
