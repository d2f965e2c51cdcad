//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdoptComposeLater: a service that was added after --finish is taken over alone, and a prune by the file deletes
// none of the others. One that was taken out of the Compose files is given back all the same.
func TestAdoptComposeLater(t *testing.T) {
	m := newMachine(t).start()
	s := m.newShop()
	m.wantSaid(s.adopt("--yes"), 0, "Tend runs "+m.scope)
	m.wantSaid(s.adopt("--finish", "--yes"), 0, "are removed")
	s.run("later", image("v1"), nil)
	s.rewrite("  console:\n", "  later:\n    image: "+image("v1")+"\n    depends_on: [db]\n    deploy: *quick\n  console:\n")
	m.wantSaid(s.adopt("--dry-run"), 0, "1 service to take over", "in Tend already, and stays declared: ",
		"deployment/"+m.scope+"/db")
	m.wantSaid(s.adopt("--yes"), 0, "later: ", "Tend runs "+m.scope)
	m.wantSaid(m.tend("apply", "--prune", "-f", filepath.Join(s.dir, ".tend", m.scope+".hcl")), 0,
		"deployment/"+m.scope+"/db unchanged", "deployment/"+m.scope+"/later unchanged")
	s.wantOurs(1)
	if got := m.running("later"); len(got) != 1 {
		t.Errorf("later has the pods %v", got)
	}

	s.rewrite("  later:\n", "  renamed:\n")
	m.wantSaid(s.adopt("--undo", "--yes"), 0, "later, which the files no longer take over, is given back too: deployment/"+m.scope+"/later",
		m.scope+" runs in Compose again", "docker compose up -d --remove-orphans")
	s.wantTheirs(map[string]string{"later": " running no"})
	if got := m.running("later"); len(got) != 0 {
		t.Errorf("later has the pods %v", got)
	}
	s.wantOurs(1)
}

// rewrite replaces a part of the Compose file.
func (s *composeShop) rewrite(old, becomes string) {
	s.Helper()
	path := filepath.Join(s.dir, "compose.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), old, becomes, 1)), 0o600)
	}
	if err != nil {
		s.Fatal(err)
	}
}
