//go:build integration

package e2e

import (
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/testimage"
)

// TestInitsSurviveAKilledServer: kill -9 in the middle of an init, and the next server goes on with the same container.
func TestInitsSurviveAKilledServer(t *testing.T) {
	m := newMachine(t).start()
	m.apply(m.manifest("app", func(s *api.DeploymentSpec) {
		s.Inits = []api.Init{
			{Name: "first", Command: []string{testimage.Program, "exit", "0"}},
			{Name: "slow", Command: []string{testimage.Program, "await", goOn}},
		}
	}))
	label := "tend.init=slow"
	slow := func() (out []string) {
		for _, b := range m.boxes(label) {
			if b.Labels[api.LabelScope] == m.scope {
				out = append(out, b.ID+" "+b.State)
			}
		}
		return out
	}
	m.until("the second init runs", func() bool { is := slow(); return len(is) == 1 && strings.HasSuffix(is[0], " running") })
	before := slow()
	m.process.kill()
	m.start()
	if after := slow(); len(after) != 1 || after[0] != before[0] {
		t.Errorf("the init's containers are %v, were %v", after, before)
	}
	m.goesOn(strings.Fields(before[0])[0])
	m.until("the pod is ready", func() bool { s := m.status("app"); return s.Ready == 1 && len(slow()) == 0 })
	if pods := m.pods("app"); len(pods) != 1 {
		t.Errorf("%d pods, want the main one alone", len(pods))
	}
}
