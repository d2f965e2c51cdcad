//go:build integration && long

package e2e

import "testing"

// TestBuildOfEveryKind: a statefulset, a job and a cron job are built as a deployment is, each an image of its own.
func TestBuildOfEveryKind(t *testing.T) {
	m := newMachine(t).start()
	s := m.source(`statefulset "SCOPE" "data" {
  build { }
  replicas = 2
}
job "SCOPE" "once" {
  build { }
  command = ["/server", "exit", "0"]
}
cronjob "SCOPE" "often" {
  build { }
  schedule = "0 0 1 1 *"
  command  = ["/server", "exit", "0"]
}
`)
	for _, name := range []string{"data", "once", "often"} {
		m.afterwards(func() { m.removeBuilt(name) })
	}
	m.wantSaid(s.apply(), 0, "building with Dockerfile")
	m.wantSaid(m.tend("run", "job", m.scope+"/once"), 0)
	m.wantSaid(m.tend("run", "cronjob", m.scope+"/often"), 0)
	images := map[string]string{}
	for _, name := range []string{"data", "once", "often"} {
		if list := m.builtImages(name); len(list) != 2 {
			t.Errorf("%s has images %v, want one by its id and latest", name, list)
		}
		images[name] = m.imageID(m.scope + "-" + name + ":latest")
	}
	for _, ordinal := range []int{0, 1} {
		if got := m.inspect(m.ordinal("data", ordinal)).Image; got != images["data"] {
			t.Errorf("data.%d runs %s, not %s", ordinal, got, images["data"])
		}
	}
	s.write("page", "two", 0o644)
	m.wantSaid(s.apply(), 0, "configured")
	for name, old := range images {
		if m.imageID(m.scope+"-"+name+":latest") == old {
			t.Errorf("%s is still made of the old tree", name)
		}
	}
	m.wantSaid(m.tend("run", "job", m.scope+"/once"), 0)
}
