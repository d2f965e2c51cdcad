package ingress

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/store/records"
)

// workload writes a status as the workload's controller does.
func (l *harness) workload(progressing, degraded bool) {
	l.Helper()
	is := map[bool]api.ConditionStatus{true: api.ConditionTrue, false: api.ConditionFalse}
	l.put(records.StatusKey(web), api.WorkloadStatus{Conditions: []api.Condition{
		{Type: api.ConditionProgressing, Status: is[progressing]}, {Type: api.ConditionDegraded, Status: is[degraded]},
	}})
}

// podWas is a pod that was ready before, and is now or isn't.
func (l *harness) podWas(id string, ready bool) {
	l.Helper()
	l.pod(id, ready)
	l.put(records.TaskStatusKey(id), api.TaskStatus{ID: id, Node: "n1", State: api.TaskRunning, Ready: ready,
		ReadyAt: epoch})
}

// A host without a ready pod is a failure once its workload is degraded, or after an outage that no deadline is about.
func TestNoReadyPodIsNoFailureBeforeItsDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		is     func(*harness)
		at     map[time.Duration]bool
	}{
		"the first migration runs": {"it has its timeout, and there are no pods yet",
			func(l *harness) { l.workload(true, false) }, map[time.Duration]bool{0: false, time.Hour: false}},
		"the first pods start": {"they have strategy.deadline",
			func(l *harness) { l.workload(true, false); l.pod("a", false) },
			map[time.Duration]bool{0: false, time.Hour: false}},
		"its only pod is replaced": {"the new one starts",
			func(l *harness) { l.workload(true, false); l.pod("b", false) },
			map[time.Duration]bool{0: false, time.Hour: false}},
		"a pod crashed": {"it is back soon, or it is an outage",
			func(l *harness) { l.workload(true, false); l.podWas("a", false) },
			map[time.Duration]bool{0: false, 29 * time.Second: false, 30 * time.Second: true}},
		"said to be complete": {"and yet none is ready, for a while",
			func(l *harness) { l.workload(false, false); l.podWas("a", false) },
			map[time.Duration]bool{0: false, time.Minute: true}},
		"it is degraded": {"its deadline passed, or it crashes again and again",
			func(l *harness) { l.workload(true, true); l.pod("a", false) }, map[time.Duration]bool{0: true}},
		"scaled to none": {"a person asked for that",
			func(l *harness) {
				none := 0
				l.object(web, api.DeploymentSpec{Replicas: &none}, nil)
				l.workload(false, false)
			}, map[time.Duration]bool{0: false, time.Hour: false}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newHarness(t)
			l.object(web, api.DeploymentSpec{Ports: []string{"8000"}}, nil)
			l.object(shop, api.IngressSpec{Host: "shop.org", Service: "web"}, nil)
			l.proxy(nil)
			l.workload(false, false)
			l.podWas("z", true)
			if s := l.look(); api.FindCondition(s.Conditions, api.ConditionReady).Status != api.ConditionTrue {
				t.Fatalf("before: %+v", s)
			}
			l.commit(records.NewTxn("test").Delete(records.TaskKey("z")).Delete(records.TaskStatusKey("z")))
			tc.is(l)
			l.look()
			for _, after := range []time.Duration{0, 29 * time.Second, 30 * time.Second, time.Minute, time.Hour} {
				want, judged := tc.at[after]
				if !judged {
					continue
				}
				l.now = epoch.Add(after)
				s := l.look()
				ready, degraded := api.FindCondition(s.Conditions, api.ConditionReady),
					api.FindCondition(s.Conditions, api.ConditionDegraded)
				next := "tend describe prod/web"
				switch {
				case want:
					next = "get deployment/prod/web ready; Tend then continues"
				case ready.Message == "deployment/prod/web is scaled to 0":
					next = "tend scale prod/web 1"
				}
				if ready.Status != api.ConditionFalse || ready.Reason != api.ReasonNoReadyPods || ready.Next != next {
					t.Errorf("after %s Ready is %+v", after, ready)
				}
				if got := degraded.Status == api.ConditionTrue; got != want {
					t.Errorf("%s: after %s it is a failure: %v, %s", tc.reason, after, got, degraded.Reason)
				}
			}
		})
	}
}

// Time alone makes an outage a failure, so the reconcile asks to be repeated then.
func TestAnOutageIsLookedAtAgain(t *testing.T) {
	l := newHarness(t)
	l.object(web, api.DeploymentSpec{}, nil)
	l.object(shop, api.IngressSpec{Host: "shop.org", Service: "web"}, nil)
	l.proxy(nil)
	l.workload(false, false)
	l.podWas("a", true)
	l.look()
	l.podWas("a", false)
	l.look()
	l.now = epoch.Add(10 * time.Second)
	if result, err := l.c.Reconcile(t.Context(), control.Key(shop)); err != nil || result.After != 20*time.Second {
		t.Errorf("it is looked at again after %s, %v", result.After, err)
	}
}
