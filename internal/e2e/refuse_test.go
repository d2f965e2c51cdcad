//go:build integration

package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestBadManifestsStoreNothing: each is refused with what, where and the next step, and a good one beside it isn't stored.
func TestBadManifestsStoreNothing(t *testing.T) {
	m := newMachine(t).start()
	const good = "deployment \"SCOPE\" \"good\" {\n  image = \"IMAGE\"\n}\n"
	for name, test := range map[string]struct {
		text string
		said []string
	}{
		"malformed":      {"deployment \"SCOPE\" \"bad\" {\n  image = \n}\n", []string{"bad.hcl:", "image = "}},
		"unknown field":  {"deployment \"SCOPE\" \"bad\" {\n  image = \"a\"\n  replica = 3\n}\n", []string{"bad.hcl:3", "replica"}},
		"unknown kind":   {"deployments \"SCOPE\" \"bad\" {\n}\n", []string{"bad.hcl:1"}},
		"bad name":       {"deployment \"SCOPE\" \"Not_A_Name\" {\n  image = \"a\"\n}\n", []string{"bad.hcl", "Not_A_Name"}},
		"twice":          {good, []string{"good", "bad.hcl"}},
		"cpu":            {"deployment \"SCOPE\" \"bad\" {\n  image = \"a\"\n  resources {\n    limits {\n      cpu = \"abc\"\n    }\n  }\n}\n", []string{"cpu", "abc"}},
		"restart":        {"deployment \"SCOPE\" \"bad\" {\n  image = \"a\"\n  restart = \"sometimes\"\n}\n", []string{"restart", "sometimes"}},
		"port":           {"deployment \"SCOPE\" \"bad\" {\n  image = \"a\"\n  ports = [\"99999999\"]\n}\n", []string{"ports", "99999999"}},
		"docker option":  {"deployment \"SCOPE\" \"bad\" {\n  image = \"a\"\n  docker_options = [\"--no-such-flag\"]\n}\n", []string{"docker_options", "--no-such-flag"}},
		"autoscale":      {"deployment \"SCOPE\" \"bad\" {\n  image = \"a\"\n  autoscale {\n    min = 1\n    max = 2\n  }\n}\n", []string{"bad.hcl:3", "autoscale.cpu_target"}},
		"unset variable": {"deployment \"SCOPE\" \"bad\" {\n  image = \"${NO_SUCH_VARIABLE}\"\n}\n", []string{"bad.hcl:2", "NO_SUCH_VARIABLE"}},
	} {
		result := m.tend("apply", "-f", m.file("good.hcl", good), "-f", m.file("bad.hcl", test.text))
		m.wantSaid(result, 1, append(test.said, "error")...)
		if t.Failed() {
			t.Fatalf("%s: see above", name)
		}
	}
	m.nothingStored()
	// The same server takes the good one alone.
	m.wantSaid(m.tend("apply", "-f", m.file("good.hcl", good)), 0)
}

func (m *machine) nothingStored() {
	m.Helper()
	objects, err := m.client.Objects(m.Context(), api.KindDeployment, client.ObjectFilter{})
	if err != nil {
		m.Fatal(err)
	}
	if len(objects.Items) > 0 {
		m.Errorf("stored all the same: %v", objects.Items)
	}
}

// TestBadRequestsStoreNothing: the server trusts no client to have checked before.
func TestBadRequestsStoreNothing(t *testing.T) {
	m := newMachine(t).start()
	object := func(name, spec string) string {
		return fmt.Sprintf(`{"kind":"deployment","scope":%q,"name":%q,"spec":%s}`, m.scope, name, spec)
	}
	good := object("good", `{"image":"a"}`)
	for name, test := range map[string]struct {
		body   string
		status int
		said   string
	}{
		"malformed":       {`[{"kind":`, 400, ""},
		"unknown field":   {"[" + good + "," + object("bad", `{"image":"a","replica":3}`) + "]", 422, "replica"},
		"bad value":       {"[" + good + "," + object("bad", `{"image":"a","restart":"sometimes"}`) + "]", 422, "sometimes"},
		"duplicates":      {"[" + good + "," + good + "]", 422, "good"},
		"unknown kind":    {`[{"kind":"pod","scope":"a","name":"b","spec":{}}]`, 422, "pod"},
		"negative count":  {"[" + good + "," + object("bad", `{"image":"a","replicas":-1}`) + "]", 422, "replicas"},
		"one of a batch":  {"[" + good + "," + object("BAD", `{"image":"a"}`) + "]", 422, "BAD"},
		"nested too deep": {strings.Repeat("[", 1<<16), 400, ""},
	} {
		_, err := m.client.ApplyBody(t.Context(), []byte(test.body), "application/json", api.ApplyRequest{})
		status := client.StatusOf(err)
		if status < 400 || status >= 500 || !strings.Contains(err.Error(), test.said) {
			t.Errorf("%s: %d %v, want a refusal that names %q", name, status, err, test.said)
		}
	}
	_, err := m.client.ApplyBody(t.Context(), bytes.Repeat([]byte(" "), api.MaxApplyBytes+1), "application/json", api.ApplyRequest{})
	if client.StatusOf(err) != 413 {
		t.Errorf("oversized: %v, want 413", err)
	}
	m.nothingStored()
	// A dry run is no write either.
	if result, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{m.manifest("dry")}, DryRun: true}); err != nil || len(result.Plan) == 0 {
		t.Errorf("dry run: %+v, %v", result, err)
	}
	m.nothingStored()
	if left := m.boxes("tend.scope=" + m.scope); len(left) > 0 {
		t.Errorf("containers of what was refused: %v", left)
	}
}

// TestNamesDoNotCollide: two objects can't claim the containers of one name.
func TestNamesDoNotCollide(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("a-b"))
	other := m.manifest("b")
	other.Scope = m.scope + "-a"
	_, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{other}})
	if !client.IsConflict(err) || !strings.Contains(err.Error(), m.scope+"/a-b") {
		t.Errorf("%v, want a conflict that names the owner", err)
	}
}
