package workload

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// beside stores another deployment, which is not reconciled here.
func (l *harness) beside(name string, ports ...string) api.Ref {
	l.Helper()
	ref := api.Ref{Kind: web.Kind, Scope: web.Scope, Name: name}
	raw, err := json.Marshal(api.DeploymentSpec{Container: api.Container{Image: "web:1"}, Ports: ports})
	if err != nil {
		l.Fatal(err)
	}
	l.put(api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw})
	return ref
}

func withEnv(n int, key, value string) api.DeploymentSpec {
	spec := replicas(n, "web:1")
	spec.Env = map[string]string{key: value}
	return spec
}

// releaseEnv returns the environment of the release in force.
func (l *harness) releaseEnv() map[string]string {
	l.Helper()
	return l.envOf(l.status().Release)
}

func (l *harness) envOf(release string) map[string]string {
	l.Helper()
	plain, err := l.sealer.Decrypt(l.snapshot().Release(web, release).Value.Env)
	if err != nil {
		l.Fatal(err)
	}
	var env map[string]string
	if err := json.Unmarshal(plain, &env); err != nil {
		l.Fatal(err)
	}
	return env
}

// TestReferenceReachesTheContainerResolved: neither the release's spec nor its environment holds the literal reference
// (a defect of systems that pass the environment twice), and another value makes another release.
func TestReferenceReachesTheContainerResolved(t *testing.T) {
	l := newHarness(t)
	l.beside("api", "8080")
	l.apply(withEnv(1, "API", "http://${ref.deployment.api.address}"))
	l.settle()
	spec, err := api.DecodeWorkload(web.Kind, l.snapshot().Release(web, "v1").Value.Spec)
	if want := "http://api.prod:8080"; err != nil || spec.Env["API"] != want || l.releaseEnv()["API"] != want {
		t.Errorf("the spec holds %q, the environment %q, want %q; %v", spec.Env["API"], l.releaseEnv()["API"], want,
			err)
	}
	l.beside("api", "9090")
	l.settle()
	if got := l.releaseEnv()["API"]; got != "http://api.prod:9090" || l.status().Release != "v2" {
		t.Errorf("the port changed: %s holds %q", l.status().Release, got)
	}
}

// A reference that lost its target leaves running pods alone, and the target's return changes nothing.
func TestReferenceThatLosesItsTarget(t *testing.T) {
	l := newHarness(t)
	server := l.beside("api")
	l.apply(withEnv(2, "API", "${ref.deployment.api.host}"))
	l.settle()
	l.write(func(txn *records.Txn) { txn.Delete(records.ObjectKey(server)) })
	if _, err := l.look(); err == nil {
		t.Error("the reference has no target")
	}
	if len(l.live()) != 2 {
		t.Errorf("%d of 2 are left", len(l.live()))
	}
	l.beside("api")
	l.settle()
	if got := l.status().Release; got != "v1" || l.condition(api.ConditionReady).Status != api.ConditionTrue {
		t.Errorf("%s is in force: %+v", got, l.condition(api.ConditionReady))
	}
}

// TestConfigReachesAnAppWithoutOtherEnvironment: an app without scope bucket and env is rolled for its first value; an
// app that doesn't read the bucket is not.
func TestConfigReachesAnAppWithoutOtherEnvironment(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.settle()
	l.config("apps/prod/api/A", "1")
	if dirty := l.c.Dirty(l.now); len(dirty) != 0 {
		t.Errorf("another app's value: %v", dirty)
	}
	l.config("apps/prod/web/A", "1")
	l.settle()
	if got := l.releaseEnv()["A"]; got != "1" || l.status().Release != "v2" || l.status().Updated != 2 {
		t.Errorf("%s holds %q, %d updated", l.status().Release, got, l.status().Updated)
	}
	l.config("apps/prod/web/A", "1") // sealed again, the same value
	l.settle()
	if l.status().Release != "v2" {
		t.Error("the same value set again made a release")
	}
}

// TestScaleUpBesideAnotherSpec: every replica, including the old ones, comes to the new spec.
func TestScaleUpBesideAnotherSpec(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(2, "web:1"))
	l.settle()
	spec := withEnv(4, "A", "1")
	l.apply(spec)
	l.settle()
	live := l.live()
	for _, task := range live {
		if task.Release != "v2" {
			t.Errorf("slot %s still runs %s", task.Slot, task.Release)
		}
	}
	if len(live) != 4 {
		t.Errorf("%d of 4", len(live))
	}
}

// An env_from bucket reaches its readers.
func TestEnvFromReaches(t *testing.T) {
	l := newHarness(t)
	spec := replicas(1, "web:1")
	spec.EnvFrom = []string{"shared/db"}
	l.config("apps/shared/db/URL", "1")
	l.apply(spec)
	l.settle()
	l.config("apps/shared/db/URL", "2")
	l.settle()
	if got := l.releaseEnv()["URL"]; got != "2" || l.status().Release != "v2" {
		t.Errorf("%s holds %q", l.status().Release, got)
	}
}

// quietly sets a value of the app's bucket and stamps the object, as config set with restart=false does.
func (l *harness) quietly(key, value string) {
	l.Helper()
	l.config("apps/prod/web/"+key, value)
	merged := l.observed().env
	hash, err := l.c.env.Hash(merged)
	if err != nil {
		l.Fatal(err)
	}
	l.stamp(api.StampQuietEnv, hash)
}

// A quiet change replaces nothing. The next release has it, whatever that release is made for.
func TestQuietEnvironment(t *testing.T) {
	for name, next := range map[string]func(l *harness){
		"spec":     func(l *harness) { l.apply(withEnv(2, "B", "1")) },
		"image":    func(l *harness) { l.images["web:1"] = "sha256:moved" },
		"config":   func(l *harness) { l.stamp(api.StampQuietEnv, ""); l.config("apps/prod/web/C", "1") },
		"loudly":   func(l *harness) { l.stamp(api.StampQuietEnv, "") },
		"the same": func(l *harness) { l.stamp(api.StampQuietEnv, ""); l.config("apps/prod/web/A", "2") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.config("apps/prod/web/A", "1")
			l.apply(replicas(2, "web:1"))
			l.settle()
			l.quietly("A", "2")
			l.settle()
			if l.status().Release != "v1" || l.releaseEnv()["A"] != "1" {
				t.Fatalf("%s is in force with %q", l.status().Release, l.releaseEnv()["A"])
			}
			l.apply(replicas(3, "web:1"))
			l.settle()
			if l.status().Release != "v1" {
				t.Fatal("scaling brought the quiet change in")
			}
			l.apply(replicas(2, "web:1"))
			next(l)
			l.settle()
			if l.status().Release != "v2" || l.releaseEnv()["A"] != "2" || l.status().Updated != 2 {
				t.Errorf("%s is in force with %q, %d updated", l.status().Release, l.releaseEnv()["A"],
					l.status().Updated)
			}
			l.settle()
			if l.status().Release != "v2" {
				t.Error("it was rolled once more")
			}
		})
	}
}

// A quiet change under a rollback leaves the release that was rolled back to in force.
func TestQuietEnvironmentUnderARollback(t *testing.T) {
	l := newHarness(t)
	l.config("apps/prod/web/A", "1")
	l.apply(replicas(1, "web:1"))
	l.settle()
	l.config("apps/prod/web/A", "2")
	l.settle()
	l.stamp(api.StampRollback, "v1")
	l.settle()
	if l.releaseEnv()["A"] != "1" || l.status().Release != "v3" {
		t.Fatalf("%s is in force with %q", l.status().Release, l.releaseEnv()["A"])
	}
	l.quietly("A", "4")
	l.settle()
	if l.releaseEnv()["A"] != "1" || l.status().Release != "v3" {
		t.Errorf("quiet, and %s is in force with %q", l.status().Release, l.releaseEnv()["A"])
	}
	l.stamp(api.StampQuietEnv, "")
	l.config("apps/prod/web/A", "5")
	l.settle()
	if l.releaseEnv()["A"] != "5" {
		t.Errorf("%s is in force with %q", l.status().Release, l.releaseEnv()["A"])
	}
}

// A dry run of a reference without a target reports it; what is applied in the same manifest counts as existing.
func TestPreviewOfReferences(t *testing.T) {
	l := newHarness(t)
	raw, err := json.Marshal(withEnv(1, "API", "${ref.deployment.api.host}"))
	if err != nil {
		t.Fatal(err)
	}
	consumer := api.Object{Kind: web.Kind, Scope: web.Scope, Name: web.Name, Spec: raw}
	alone, err := l.c.Preview(l.snapshot(), consumer)
	if err != nil || len(alone) != 1 || alone[0].Verb != "refuse" || alone[0].Reason != "UnresolvedReference" {
		t.Errorf("alone: %+v, %v", alone, err)
	}
	server := api.Object{Kind: web.Kind, Scope: web.Scope, Name: "api", Spec: json.RawMessage(`{"image":"web:1"}`)}
	together, err := l.c.Preview(l.snapshot().With([]api.Object{consumer, server}), consumer)
	if err != nil || len(together) == 0 || together[0].Verb == "refuse" {
		t.Errorf("together: %+v, %v", together, err)
	}
}
