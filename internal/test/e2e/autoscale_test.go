//go:build integration

package e2e

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// TestAutoscaleFollowsTheLoad: pods that burn bring others, idle ones let them go; in between the same manifest resets
// nothing, messages name the owner of the count, and another server process keeps the cooldowns.
func TestAutoscaleFollowsTheLoad(t *testing.T) {
	m := newMachine(t, "--autoscale-interval", "2s").start()
	object := m.manifest("app", func(s *api.DeploymentSpec) {
		s.Replicas = nil
		s.Command = []string{testimage.Program, "burn", goOn}
		s.Resources = &api.Resources{Limits: &api.ResourceLimits{CPU: "200m"}}
		s.Autoscale = &api.Autoscale{Min: 1, Max: 2, CPUTarget: 2, CooldownUp: "3s", CooldownDown: "10s"}
	})
	m.deploy(object)
	m.until("a burning pod brings another one", func() bool { return len(m.running("app")) == 2 })
	m.converged("app", 0)
	two := m.containers("app")
	m.until("the autoscaler reports it", func() bool {
		status := m.status("app").Autoscale
		return status != nil && !status.LastUp.IsZero()
	})
	up := m.status("app").Autoscale.LastUp

	m.converged("app", m.apply(object))
	if now := m.containers("app"); !slices.Equal(now, two) {
		t.Errorf("the same manifest made %v of %v", now, two)
	}
	m.wantSaid(m.tend("scale", m.scope+"/app", "1"), 1, "the autoscaler chooses the replicas", "autoscale.max")
	m.wantSaid(m.tend("blame", m.scope+"/app"), 0, "autoscaler")
	m.wantSaid(m.tend("describe", m.scope+"/app"), 0, "1 to 2 replicas, target 2 % CPU per pod")
	m.wantSaid(m.tend("get", "deployment", "-o", "wide"), 0, "/2% 1-2")

	m.process.kill()
	m.start()
	if again := m.status("app").Autoscale; again == nil || !again.LastUp.Equal(up) {
		t.Errorf("after a restart the status is %+v, want the last step up at %s", again, up)
	}
	for name := range m.running("app") {
		m.goesOn(name)
	}
	m.until("idle pods go", func() bool { return len(m.running("app")) == 1 })
	m.until("the autoscaler reports it", func() bool { return m.status("app").Autoscale.LastDown.After(up) })
	if status := m.status("app").Autoscale; status.LastDown.Sub(status.LastUp).Seconds() < 10 {
		t.Errorf("the step down came within the cooldown: %+v", status)
	}
}
