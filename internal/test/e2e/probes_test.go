//go:build integration

package e2e

import (
	"slices"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// asked returns the edit that probes the test server's health five times a second, with two failures as the threshold.
func asked(edits ...func(*api.Probes)) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) {
		healthz := func() *api.Probe {
			return &api.Probe{HTTPGet: &api.HTTPGet{Path: "/healthz", Port: 8080}, Period: "200ms", FailureThreshold: 2}
		}
		s.Probes = &api.Probes{Readiness: healthz()}
		for _, edit := range edits {
			edit(s.Probes)
		}
	}
}

// neverReady edits a spec to a version whose health stays bad.
func neverReady(s *api.DeploymentSpec) {
	runs("v2")(s)
	s.Env = map[string]string{"READY_AFTER": "1h"}
	s.Strategy.Deadline = "4s"
}

// readyCount follows the pods of an object and remembers the fewest that were ready at once.
type readyCount struct {
	mu     sync.Mutex
	fewest int
	tried  map[string]bool // pods of another release than the first that were seen
	ended  chan struct{}
	end    chan struct{}
}

func (m *machine) countReady(name string, first int) *readyCount {
	c := &readyCount{fewest: first, tried: map[string]bool{}, end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for {
			select {
			case <-c.end:
				return
			default:
				c.count(m, name)
			}
		}
	}()
	return c
}

func (c *readyCount) count(m *machine, name string) {
	list, err := m.client.Pods(m.Context(), client.PodFilter{Scope: m.scope, Name: name})
	if err != nil {
		return
	}
	ready := 0
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range list.Items {
		if pod.Ready {
			ready++
		}
		if pod.Release != "v1" {
			c.tried[pod.Name] = true
		}
	}
	c.fewest = min(c.fewest, ready)
}

func (c *readyCount) stop() (fewest, tried int) {
	close(c.end)
	<-c.ended
	return c.fewest, len(c.tried)
}

// TestRolloutGatesOnReadiness: a version that never becomes ready stops at its first slot, and at no moment fewer are
// ready than are wanted.
func TestRolloutGatesOnReadiness(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app", replicas(3), asked()))
	before := m.containers("app")
	h, count := m.follow(), m.countReady("app", 3)
	m.apply(m.manifest("app", replicas(3), asked(), neverReady))
	m.until("the rollout is paused", func() bool { return m.status("app").Rollout.Phase == api.RolloutPaused })
	fewest, tried := count.stop()
	if fewest < 3 || tried != 1 {
		t.Errorf("%d were ready at the least, %d of the new version were tried; want 3 and 1", fewest, tried)
	}
	if least, most := h.bounds("app", 3); least < 3 || most > 4 {
		t.Errorf("between %d and %d containers ran, want 3 to 4", least, most)
	}
	now := m.containers("app")
	for _, id := range before {
		if !slices.Contains(now, id) {
			t.Errorf("container %s of the old version was touched", id)
		}
	}
	m.degraded("app", m.conditionReason("app"), "readiness: GET :8080/healthz", "answered 503")
	// The corrected version goes past it.
	m.deploy(m.manifest("app", replicas(3), asked(), runs("v3")))
	m.exactly("app", 3, "v3")
}

func (m *machine) conditionReason(name string) string {
	if c := api.FindCondition(m.status(name).Conditions, api.ConditionDegraded); c != nil {
		return c.Reason
	}
	return ""
}
