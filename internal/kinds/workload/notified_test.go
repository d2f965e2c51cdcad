package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// hooked is a spec with two targets for success and one for everything else.
func hooked(n int, image string) api.DeploymentSpec {
	spec := replicas(n, image)
	to := func(names ...string) (out []api.Webhook) {
		for _, name := range names {
			out = append(out, api.Webhook{URL: "https://hooks.example/secret/" + name})
		}
		return out
	}
	spec.OnDeploy = &api.DeployHooks{Success: to("a", "b"), Failure: to("c")}
	spec.OnProbe = &api.ProbeHooks{Failure: to("d"), Recovery: to("e")}
	return spec
}

// notifiedOf returns the ids of the recorded webhook calls, oldest first.
func (l *harness) notifiedOf() []string {
	l.Helper()
	var out []string
	for _, call := range l.snapshot().Deliveries(web) {
		out = append(out, call.Value.ID)
	}
	return out
}

func (l *harness) notified(want ...string) {
	l.Helper()
	if diff := cmp.Diff(want, l.notifiedOf()); diff != "" {
		l.Errorf("notified (-want +got): %s", diff)
	}
}

// TestSuccessIsReportedOnce: a release and a restart each end once; a scale and healing are not rollouts.
func TestSuccessIsReportedOnce(t *testing.T) {
	l := newHarness(t)
	l.apply(hooked(1, "web:1"))
	l.settle()
	l.notified("deploy-v1-success-1-0", "deploy-v1-success-1-1")
	call := l.snapshot().Delivery(web, "deploy-v1-success-1-1").Value
	if call.Hook != "on_deploy.success[1]" || call.State != api.DeliveryPending {
		t.Errorf("the call is %+v", call)
	}
	for name, value := range map[string]string{
		"kind": "deployment", "scope": "prod", "name": "web", "release_id": "v1", "image": "web:1", "status": "success",
		"error": "",
	} {
		if got := call.Tokens[name]; got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if call.Tokens["started_at"] == "" || call.Tokens["completed_at"] == "" {
		t.Errorf("the tokens are %v", call.Tokens)
	}
	for record := range l.snapshot().Prefix(records.DeliveriesPrefix) {
		if d := record.Value.(*api.Delivery); strings.Contains(strings.Join([]string{d.Hook, d.Error}, " "), "secret") {
			t.Error("a record holds an address")
		}
	}
	l.apply(hooked(3, "web:1"))
	l.settle()
	l.write(func(txn *records.Txn) { txn.Delete(records.DeliveryKey(web, "deploy-v1-success-1-0")) }) // collected
	l.apply(hooked(2, "web:1"))
	l.settle()
	l.notified("deploy-v1-success-1-1")
	l.stamp(api.StampRestart, "1")
	l.settle()
	l.notified("deploy-v1-success-1-1", "deploy-v1-success-2-0", "deploy-v1-success-2-1")
}

// TestAHookThatComesLaterTellsOfNothingPast: an outcome before a hook was declared is not notified.
func TestAHookThatComesLaterTellsOfNothingPast(t *testing.T) {
	l := newHarness(t)
	l.apply(replicas(1, "web:1"))
	l.settle()
	l.apply(hooked(1, "web:1"))
	l.settle()
	l.notified()
}

func TestFailuresAreReportedOnceAnAttempt(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   func(image string) api.DeploymentSpec
		break_ func(l *harness)
		want   string
	}{
		"rolled back": {"an automatic rollback is a failure of what was tried",
			func(image string) api.DeploymentSpec { return hooked(1, image) },
			func(l *harness) { l.fails["v2"] = true }, "no such folder"},
		"paused": {"so is a rollout that stands still", func(image string) api.DeploymentSpec {
			spec := hooked(1, image)
			spec.Strategy.OnFailure = api.OnFailurePause
			return spec
		}, func(l *harness) { l.fails["v2"] = true }, "no such folder"},
		"command": {"and a release command that fails", func(image string) api.DeploymentSpec {
			spec := hooked(1, image)
			spec.Release = &api.ReleaseHooks{Command: []string{"migrate"}}
			return spec
		}, func(l *harness) { l.does["v2-command"] = breaks }, "exit code 3\nmigrating\ntable users is locked"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.apply(tc.spec("web:1"))
			l.settle()
			tc.break_(l)
			l.apply(tc.spec("web:2"))
			for range 300 {
				l.looks()
				l.place()
				l.runAgent()
				l.pass(100)
			}
			l.notified("deploy-v1-success-1-0", "deploy-v1-success-1-1", "deploy-v2-failure-2-0")
			call := l.snapshot().Delivery(web, "deploy-v2-failure-2-0").Value
			if call.Tokens["status"] != "failure" || !strings.Contains(call.Tokens["error"], tc.want) ||
				call.Tokens["image"] != "web:2" {
				t.Errorf("%s: notified %v", tc.reason, call.Tokens)
			}
			l.fails["v2"] = false
			l.apply(tc.spec("web:3"))
			l.settle()
			if notified := l.notifiedOf(); !strings.Contains(strings.Join(notified, " "), "deploy-v3-success-3-1") {
				t.Errorf("a later success is not notified: %v", notified)
			}
		})
	}
}

// probe sets the result of the first slot's readiness probe.
func (l *harness) probe(phase api.ProbePhase, transition int) {
	l.Helper()
	task := l.live()[0]
	status := *l.snapshot().TaskStatus(task.ID).Value
	status.Probes = map[string]api.ProbeStatus{"readiness": {Phase: phase, Transition: transition, Since: l.now,
		Message: "status 503"}}
	l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(task.ID), status) })
	l.looks()
}

// TestProbesAreNotified: each failure is notified once, a recovery only after a failure, and nothing that is old or
// being stopped.
func TestProbesAreNotified(t *testing.T) {
	l := newHarness(t)
	l.apply(hooked(1, "web:1"))
	l.settle()
	l.write(func(txn *records.Txn) {
		txn.Delete(records.DeliveryKey(web, "deploy-v1-success-1-0")).Delete(records.DeliveryKey(web,
			"deploy-v1-success-1-1"))
	})
	task := l.live()[0]
	id := func(n string) string { return "probe-" + task.ID + "-readiness-" + n + "-0" }
	l.probe(api.ProbeHealthy, 1)
	l.notified()
	l.probe(api.ProbeUnhealthy, 2)
	l.notified(id("2"))
	call := l.snapshot().Delivery(web, id("2")).Value
	if call.Hook != "on_probe.failure[0]" || call.Tokens["pod"] != task.ContainerName() ||
		call.Tokens["probe"] != "readiness" ||
		call.Tokens["transition"] != "failure" || call.Tokens["reason"] != "status 503" ||
		call.Tokens["transition_id"] == "" ||
		call.Tokens["scope"] != "prod" {
		t.Errorf("notified %+v", call)
	}
	l.looks()
	l.notified(id("2"))
	l.write(func(txn *records.Txn) { txn.Delete(records.DeliveryKey(web, id("2"))) }) // collected
	l.looks()
	l.notified()
	l.probe(api.ProbeUnknown, 2) // started again, no result yet
	l.notified()
	l.probe(api.ProbeHealthy, 3)
	l.notified(id("3"))
	l.probe(api.ProbeHealthy, 3)
	l.notified(id("3"))
	if call := l.snapshot().Delivery(web, id("3")).Value; call.Hook != "on_probe.recovery[0]" ||
		call.Tokens["transition"] != "recovery" {
		t.Errorf("notified %+v", call)
	}
}

func TestOldAndDyingProbesAreNotNotified(t *testing.T) {
	l := newHarness(t)
	l.apply(hooked(1, "web:1"))
	l.settle()
	task := l.live()[0]
	status := *l.snapshot().TaskStatus(task.ID).Value
	status.Probes = map[string]api.ProbeStatus{"liveness": {Phase: api.ProbeUnhealthy, Transition: 2,
		Since: l.now.Add(-oldTransition)}}
	before := l.notifiedOf()
	l.write(func(txn *records.Txn) { txn.Put(records.TaskStatusKey(task.ID), status) })
	l.looks()
	l.notified(before...)
	status.Probes = map[string]api.ProbeStatus{"liveness": {Phase: api.ProbeUnhealthy, Transition: 4, Since: l.now}}
	l.write(func(txn *records.Txn) {
		txn.RaiseTask(l.snapshot().Task(task.ID), api.DesiredShutdown, "",
			time.Time{}).Put(records.TaskStatusKey(task.ID), status)
	})
	l.looks()
	l.notified(before...)
}

// TestScopesWithDashes: a hook gets the object's own scope, even if it contains dashes.
func TestScopesWithDashes(t *testing.T) {
	o := observed{ref: api.Ref{Kind: api.KindDeployment, Scope: "a-b", Name: "c-d"}}
	tokens := o.tokens(epoch, "")
	if tokens["scope"] != "a-b" || tokens["name"] != "c-d" {
		t.Errorf("notified %v", tokens)
	}
}
