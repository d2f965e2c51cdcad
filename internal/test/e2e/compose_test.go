//go:build integration

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

const composed = `
services:
  my_db:
    image: IMAGE
    restart: always
    container_name: shop-database
  migrate:
    image: IMAGE
    command: ["PROGRAM", "CODE"]
    environment: {ROUND: "ROUNDNR"}
    depends_on: [my_db]
  web:
    image: IMAGE
    restart: always
    environment: {ROUND: "ROUNDNR"}
    depends_on:
      migrate: {condition: service_completed_successfully}
`

// TestComposeKeepsOrderAndNames: services that end run before those that wait for them, on the first apply and on later
// ones, and containers find each other by their former names. A failed migration costs no pods of the release before.
func TestComposeKeepsOrderAndNames(t *testing.T) {
	m := newMachine(t).start()
	composeApply := func(round, command string) cliResult {
		t.Helper()
		file := m.file("compose.yaml",
			strings.NewReplacer(`"PROGRAM", "CODE"`, `"`+testimage.Program+`", `+command, "ROUNDNR", round).Replace(composed))
		out := filepath.Join(filepath.Dir(file), "shop.hcl")
		m.wantSaid(m.tend("import", "compose", file, "--scope", m.scope, "-O", out), 0, "became a job", "tend apply -f "+out)
		return m.tend("apply", "-f", out)
	}
	m.wantSaid(composeApply("1", `"sleep", "2s"`), 0)
	m.inOrder("v1-run")
	first := m.containers("web")
	for _, name := range []string{"my_db", "shop-database", "my-db"} {
		found := strings.Fields(m.engine("exec", first[0], testimage.Program, "lookup", name).must())
		database := m.inspect(m.containers("my-db")[0]).NetworkSettings.Networks[m.network].IPAddress
		if len(found) != 1 || found[0] != database {
			t.Errorf("%s is %v, want %s", name, found, database)
		}
	}
	m.wantSaid(composeApply("2", `"sleep", "2s"`), 0)
	m.inOrder("v2-run")
	second := m.containers("web")
	m.wantSaid(composeApply("3", `"exit", "7"`), 1, "job/"+m.scope+"/migrate", "exit code 7")
	if third := m.containers("web"); len(third) != 1 || third[0] != second[0] {
		t.Errorf("the pods are %v, want %v: the migration failed", third, second)
	}
}

// inOrder checks that a run of the migration ended before the pod of web began.
func (m *machine) inOrder(run string) {
	m.Helper()
	m.kind = api.KindJob
	ended := m.runIs("migrate", run, api.RunSucceeded)
	m.kind = api.KindDeployment
	for _, name := range m.containers("web") {
		began, err := time.Parse(time.RFC3339Nano, m.inspect(name).State.StartedAt)
		if err != nil {
			m.Fatal(err)
		}
		if finished := ended.Attempts[0].FinishedAt; began.Before(finished) {
			m.Errorf("%s began at %s, before the migration ended at %s", name, began, finished)
		}
	}
}
