//go:build integration

package e2e

import (
	"slices"
	"testing"

	"tend.dev/tend/api"
)

func needs(workloads ...string) func(*api.DeploymentSpec) {
	return func(s *api.DeploymentSpec) { s.DependsOn = &api.DependsOn{Workloads: workloads} }
}

// TestDependenciesStartFirst: three applied at once start one after another, each once the one before is ready, as the
// engine itself reports it.
func TestDependenciesStartFirst(t *testing.T) {
	m := newMachine(t).start()
	h := m.follow()
	objects := []api.Object{
		m.manifest("web", needs("deployment/api")),
		m.manifest("api", needs("deployment/"+m.scope+"/db")),
		m.manifest("db"),
	}
	if _, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: objects}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"db", "api", "web"} {
		m.converged(name, 0)
	}
	h.caughtUp()
	var order []string
	for _, event := range h.all() {
		if event.Action == "start" {
			order = append(order, event.Actor.Attributes["tend.name"])
		}
	}
	if !slices.Equal(order, []string{"db", "api", "web"}) {
		t.Errorf("they started in the order %v", order)
	}
	// What heals waits for nothing.
	m.apply(m.manifest("db", does("exit", "1"), watched("10s")))
	m.degraded("db", "CrashLoop")
	web := m.pods("web")[0]
	m.engine("rm", "-f", web.Name).must()
	m.until("web runs again", func() bool { return len(m.running("web")) == 1 })
	// Its next release does.
	revision := m.apply(m.manifest("web", needs("deployment/api", "deployment/db"), runs("v2")))
	m.until("web waits", func() bool {
		status := m.status("web")
		c := api.FindCondition(status.Conditions, api.ConditionProgressing)
		return status.ObservedRevision >= revision && c != nil && c.Reason == "WaitingForDependency"
	})
	m.deploy(m.manifest("db"))
	m.converged("web", revision)
	m.exactly("web", 1, "v2")
}

// TestCircularDependenciesAreRefused before anything is stored.
func TestCircularDependenciesAreRefused(t *testing.T) {
	m := newMachine(t).start()
	manifest := m.file("circle.hcl", `
deployment "`+m.scope+`" "a" {
  image = "`+image("v1")+`"
  depends_on { workloads = ["deployment/b"] }
}
deployment "`+m.scope+`" "b" {
  image = "`+image("v1")+`"
  depends_on { workloads = ["deployment/a"] }
}
`)
	scope := "deployment/" + m.scope
	m.wantSaid(m.tend("apply", "-f", manifest), 1, "goes round in a circle", scope+"/a → "+scope+"/b → "+scope+"/a")
	m.nothingStored()
}
