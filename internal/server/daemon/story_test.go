package daemon

import (
	"context"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
)

// The stories run the whole server over a simulated engine: from the API to the containers.

func TestDeployScaleRollDelete(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	m.engine.AddImage("web:2")
	r := m.start(nil).ready()

	status := r.converged(web, r.apply(manifestOf(web, replicas(3))))
	if status.Ready != 3 || status.Release != "v1" {
		t.Fatalf("after the deploy: %+v", status)
	}
	first := r.live(web)

	status = r.converged(web, r.apply(manifestOf(web, replicas(5))))
	if status.Ready != 5 || status.Release != "v1" {
		t.Fatalf("scaling made a release, or did not scale: %+v", status)
	}
	kept := map[string]bool{}
	for _, pod := range r.live(web) {
		kept[pod.Name] = true
	}
	for _, pod := range first {
		if !kept[pod.Name] {
			t.Errorf("scaling up replaced %s", pod.Name)
		}
	}

	status = r.converged(web, r.apply(manifestOf(web, func(s *api.DeploymentSpec) { replicas(5)(s); s.Image = "web:2" })))
	if status.Release != "v2" || status.Updated != 5 {
		t.Fatalf("after the roll: %+v", status)
	}
	for _, pod := range r.live(web) {
		if pod.Release != "v2" || kept[pod.Name] {
			t.Errorf("%s still runs %s", pod.Name, pod.Release)
		}
	}

	if _, err := r.client.Delete(context.Background(), web); err != nil {
		t.Fatal(err)
	}
	r.until("the object is gone", func() bool {
		_, err := r.client.Object(context.Background(), web)
		return client.IsNotFound(err)
	})
	if left := m.engine.Containers(); len(left) > 0 {
		t.Errorf("containers left behind: %v", left)
	}
}

func TestHealsInPlace(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	victim := r.live(web)[0]
	for reason, harm := range map[string]func() error{
		"removed": func() error { return m.engine.RemoveByHand(victim.Name) },
		"stopped": func() error { return m.engine.StopByHand(victim.Name) },
		"killed":  func() error { return m.engine.Kill(victim.Name, "KILL") },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		r.until("healed after it was "+reason, func() bool {
			for _, c := range m.engine.Containers() {
				if c.Name == victim.Name {
					return c.State == runtime.StateRunning
				}
			}
			return false
		})
	}
}

func TestRollbackReturnsSpecImageAndEnvironment(t *testing.T) {
	m := newMachine(t)
	first := m.engine.AddImage("web:1")
	m.engine.AddImage("web:2")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	r.converged(web, r.apply(manifestOf(web, func(s *api.DeploymentSpec) { replicas(3)(s); s.Image = "web:2" })))

	result, err := r.client.Rollback(context.Background(), client.TargetOf(web), "")
	if err != nil {
		t.Fatal(err)
	}
	status := r.converged(web, result.Revision)
	if status.Release != "v3" || status.ImageID != first || status.Replicas != 3 {
		t.Fatalf("after the rollback: %+v, want v3 with image %s and 3 replicas", status, first)
	}
}

func TestAutomaticRollback(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	bad := m.engine.AddImage("web:bad")
	r := m.start(nil).ready()
	careful := func(image string) api.Object {
		return manifestOf(web, func(s *api.DeploymentSpec) {
			replicas(3)(s)
			s.Image, s.Strategy.OnFailure = image, api.OnFailureRollback
		})
	}
	r.converged(web, r.apply(careful("web:1")))
	m.engine.Before(func(verb, subject string) error {
		if verb == "create" && r.imageOf(subject) == bad {
			return &runtime.RejectedError{Reason: "InvalidMount", Detail: "no such folder"}
		}
		return nil
	})
	revision := r.apply(careful("web:bad"))
	r.until("it is rolled back", func() bool {
		status, _ := r.status(web)
		return status.ObservedRevision >= revision && status.Rollout != nil && status.Rollout.Phase == api.RolloutRolledBack
	})
	status, _ := r.status(web)
	degraded := api.FindCondition(status.Conditions, api.ConditionDegraded)
	if status.Release != "v1" || degraded.Reason != "RolledBack" {
		t.Fatalf("%+v", status)
	}
	if len(r.live(web)) != 3 {
		t.Fatalf("%d live pods", len(r.live(web)))
	}
}

// imageOf returns the image of the release that a pod to be made belongs to.
func (r *running) imageOf(pod string) string {
	pods, err := r.client.Pods(context.Background(), client.PodFilter{})
	if err != nil {
		return ""
	}
	for _, p := range pods.Items {
		if p.Name != pod {
			continue
		}
		releases, err := r.client.Releases(context.Background(), client.TargetOf(p.Owner()))
		if err != nil {
			return ""
		}
		for _, release := range releases.Items {
			if release.ID == p.Release {
				return release.ImageID
			}
		}
	}
	return ""
}

func TestMissingImageSaysSoAndConvergesWhenItComes(t *testing.T) {
	m := newMachine(t)
	r := m.start(nil).ready()
	revision := r.apply(manifestOf(web, nil))
	r.until("the condition says that the image is not there", func() bool {
		status, _ := r.status(web)
		c := api.FindCondition(status.Conditions, api.ConditionDegraded)
		return c != nil && c.Status == api.ConditionTrue && c.Message != ""
	})
	m.engine.AddImage("web:1")
	r.converged(web, revision)
}

func TestConfigRollsWhatItReaches(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	if _, err := r.client.SetConfig(context.Background(), "prod", "web",
		api.ConfigRequest{Set: map[string]string{"A": "1"}}); err != nil {
		t.Fatal(err)
	}
	r.until("the environment's release is out", func() bool {
		status, _ := r.status(web)
		return status.Release == "v2" && status.Updated == 2
	})
	// The same value again changes nothing.
	if _, err := r.client.SetConfig(context.Background(), "prod", "web",
		api.ConfigRequest{Set: map[string]string{"A": "1"}}); err != nil {
		t.Fatal(err)
	}
	before := r.live(web)
	r.converged(web, 0)
	if after := r.live(web); len(after) != len(before) || after[0].Name != before[0].Name {
		t.Errorf("setting the same value replaced pods: %v -> %v", before, after)
	}
}

func TestFreezeAndStart(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(3))))
	victim := r.live(web)[0]
	if _, err := r.client.StopPod(context.Background(), victim.Name, true); err != nil {
		t.Fatal(err)
	}
	r.until("two run and one is frozen", func() bool {
		status, _ := r.status(web)
		return status.Running == 2 && status.Frozen == 1
	})
	if _, err := r.client.StartPod(context.Background(), victim.Name); err != nil {
		t.Fatal(err)
	}
	r.until("three run again", func() bool {
		status, _ := r.status(web)
		return status.Ready == 3 && status.Frozen == 0
	})
}

func TestRestartReplacesEverySlot(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(3))))
	old := map[string]bool{}
	for _, pod := range r.live(web) {
		old[pod.Name] = true
	}
	result, err := r.client.Restart(context.Background(), client.TargetOf(web))
	if err != nil {
		t.Fatal(err)
	}
	status := r.converged(web, result.Revision)
	if status.Release != "v1" {
		t.Errorf("a restart made release %s", status.Release)
	}
	for _, pod := range r.live(web) {
		if old[pod.Name] {
			t.Errorf("%s was not replaced", pod.Name)
		}
	}
}

func TestImageDriftRolls(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(2))))
	moved := m.engine.Retag("web:1")
	r.until("the moved tag is rolled out", func() bool {
		status, _ := r.status(web)
		return status.ImageID == moved && status.Updated == 2
	})
}

func TestRestartedServerAdoptsWhatRuns(t *testing.T) {
	m := newMachine(t)
	m.engine.AddImage("web:1")
	r := m.start(nil).ready()
	r.converged(web, r.apply(manifestOf(web, replicas(3))))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	calls := m.engine.Mutations()
	r = m.start(nil).ready()
	r.converged(web, 0)
	if extra := m.engine.Mutations() - calls; extra != 0 {
		t.Errorf("the restarted server touched the engine %d times", extra)
	}
}
