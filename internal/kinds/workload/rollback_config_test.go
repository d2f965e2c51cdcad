package workload

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// rotated returns a harness in which v1 ran with a secret that leaked and an OLD key, and v2, of another image, with
// neither.
func rotated(t *testing.T) *harness {
	l := newHarness(t)
	l.config("apps/prod/web/MODE", "leaked")
	l.config("apps/prod/web/OLD", "1")
	l.apply(replicas(2, "web:1"))
	l.settle()
	l.config("apps/prod/web/MODE", "rotated")
	l.write(func(txn *records.Txn) { txn.Delete(records.ConfigAppPrefix("prod", "web") + "OLD") })
	l.apply(replicas(2, "web:2"))
	l.settle()
	if got := l.inForce(); got.ID != "v2" || string(got.Env) != `sealed:{"MODE":"rotated"}` {
		t.Fatalf("before the rollback: %s with %s", got.ID, got.Env)
	}
	return l
}

// A rollback brings no rotated secret and no removed key back, unless it is asked to.
func TestRollbackKeepsConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		back   func(*harness)
		want   string
	}{
		"config stays": {"the default", func(l *harness) { l.rollBack("v1") }, `{"MODE":"rotated"}`},
		"with config": {"asked for", func(l *harness) { l.rollBackWithConfig("v1") },
			`{"MODE":"leaked","OLD":"1"}`},
		"first without it": {"asked for afterwards", func(l *harness) {
			l.rollBack(
				"v1")
			l.settle()
			l.rollBackWithConfig("v1")
		}, `{"MODE":"leaked","OLD":"1"}`},
		"first with it": {"and taken back", func(l *harness) {
			l.rollBackWithConfig("v1")
			l.settle()
			l.rollBack(
				"v1")
		}, `{"MODE":"rotated"}`},
		"earlier version": {"its stamp stands alone", func(l *harness) { l.returnTo("v1") },
			`{"MODE":"leaked","OLD":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := rotated(t)
			tc.back(l)
			l.settle()
			got := l.inForce()
			if string(got.Env) != "sealed:"+tc.want || got.RolledBackFrom != "v1" || got.ImageID != "sha256:1" ||
				got.Steps != nil {
				t.Errorf("%s: %+v runs with %s", tc.reason, got, got.Env)
			}
			l.pass(600_000)
			l.settle()
			if again := l.inForce(); again.ID != got.ID || l.status().Rollout.Phase != api.RolloutComplete {
				t.Errorf("%s: it went on to %s, %s", tc.reason, again.ID, l.status().Rollout.Phase)
			}
		})
	}
}

// Defect: config that is set after a rollback and never reaches a container.
func TestConfigAfterARollbackIsRolledOut(t *testing.T) {
	for name, back := range map[string]func(*harness){
		"config stayed":   func(l *harness) { l.rollBack("v1") },
		"with config":     func(l *harness) { l.rollBackWithConfig("v1") },
		"earlier version": func(l *harness) { l.returnTo("v1") },
	} {
		t.Run(name, func(t *testing.T) {
			l := rotated(t)
			back(l)
			l.settle()
			pinned := l.status().Release
			object := *l.snapshot().Object(web).Value // a scale keeps the stamps
			object.Spec = []byte(strings.Replace(string(object.Spec), `"replicas":2`, `"replicas":3`, 1))
			object.Metadata.Generation++
			l.put(object)
			l.settle()
			if got := l.status(); got.Release != pinned || got.Ready != 3 {
				t.Fatalf("a scale after the rollback made %s of %s, %d ready", got.Release, pinned, got.Ready)
			}
			l.config("apps/prod/web/MODE", "better")
			l.settle()
			after := l.inForce()
			if string(after.Env) != `sealed:{"MODE":"better"}` || after.Reason != "environment changed" ||
				after.ImageID != "sha256:1" {
				t.Errorf("after the config was set: %+v with %s", after, after.Env)
			}
			l.pass(600_000)
			l.settle()
			if got := l.status().Release; got != after.ID {
				t.Errorf("it went on to %s", got)
			}
		})
	}
}

// A return to a release's environment needs nothing of today's, so it works where that can't be built.
func TestRollbackWithConfigWhereTodaysIsIncomplete(t *testing.T) {
	l := newHarness(t)
	spec := replicas(1, "web:1")
	spec.SecretFiles = map[string]string{"/run/token": "TOKEN"}
	l.config("apps/prod/web/TOKEN", "t1")
	l.apply(spec)
	l.settle()
	spec.Image = "web:2"
	l.apply(spec)
	l.settle()
	l.write(func(txn *records.Txn) { txn.Delete(records.ConfigAppPrefix("prod", "web") + "TOKEN") })
	l.rollBackWithConfig("v1")
	l.settle()
	if got := l.inForce(); got.ID != "v3" || string(got.Env) != `sealed:{"=/run/token":"t1"}` ||
		got.ImageID != "sha256:1" {
		t.Fatalf("%+v runs with %s", got, got.Env)
	}
	l.config("apps/prod/web/TOKEN", "t2")
	l.settle()
	if got := l.inForce(); string(got.Env) != `sealed:{"=/run/token":"t2"}` {
		t.Errorf("once it is set again, %s runs with %s", got.ID, got.Env)
	}
}

// An automatic rollback returns to what ran, with its environment: the config may be what failed. It names the keys.
func TestAutomaticRollbackOfConfig(t *testing.T) {
	l := newHarness(t)
	l.config("apps/prod/web/URL", "good")
	l.config("apps/prod/web/OLD", "1")
	l.apply(replicas(3, "web:1"))
	l.settle()
	l.fails["v2"] = true
	l.config("apps/prod/web/URL", "bad")
	l.write(func(txn *records.Txn) { txn.Delete(records.ConfigAppPrefix("prod", "web") + "OLD") })
	l.settle()
	s := l.status()
	if s.Release != "v1" || s.Rollout.Phase != api.RolloutRolledBack || s.Ready != 3 {
		t.Fatalf("after the failure: %+v, rollout %+v", s, s.Rollout)
	}
	if got := s.Rollout.Failed.Config.String(); got != "OLD removed, URL changed" {
		t.Errorf("it names %q", got)
	}
	degraded := l.condition(api.ConditionDegraded)
	if !strings.HasPrefix(degraded.Message, "v2 failed, back on v1 and the config it ran with (since then: OLD removed, URL changed): ") ||
		strings.Contains(degraded.Message, "bad") {
		t.Errorf("it says %q", degraded.Message)
	}
	l.config("apps/prod/web/URL", "better")
	l.settle()
	if got := l.inForce(); got.ID != "v3" || string(got.Env) != `sealed:{"URL":"better"}` {
		t.Errorf("after a correction, %s runs with %s", got.ID, got.Env)
	}
}
