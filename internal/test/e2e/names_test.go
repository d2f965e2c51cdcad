//go:build integration

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

// TestNamesOfContainersAreTheirScopes: a source that isn't trusted gives its containers names of its own scope alone.
// The engine's answers to a container of another scope are the oracle. A source that is trusted shows that they would
// be others: the engine gives a container of another scope any name that is asked for.
func TestNamesOfContainersAreTheirScopes(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("vault"))
	shop := m.scope + "-x"
	m.afterwards(func() { m.removeContainers("tend.scope=" + shop) })
	vault := m.containers("vault")[0]
	address := m.inspect(vault).NetworkSettings.Networks[m.network].IPAddress
	for name, tc := range map[string]struct {
		reason, hostname string
		// others holds the address that a container of another scope than the source's gets for the hostname.
		others string
	}{
		"foreign": {"it is the workload vault of the other scope", "vault." + m.scope, address},
		"zoned":   {"the same name in a zone of Tend's", "Vault." + m.scope + ".tend", address},
		"public":  {"it would take the place of a server elsewhere", "api.names-test.example", ""},
		"single":  {"a Compose project's service may be called so in a network of its own", "names-test-db", ""},
		"deeper":  {"one label before the scope is a workload's name, two are a domain's", "api.names-test." + shop, ""},
	} {
		refused := m.syncOf(name, shop, tc.hostname, "--scope", shop)
		refused.output = strings.Join(strings.Fields(refused.output), " ") // its lines are wrapped
		m.wantSaid(refused, 1, "hostname "+tc.hostname+" is a name by which", "not trusted", `hostname = "`+name+"."+shop+`"`)
		if boxes := m.boxes("tend.scope=" + shop); len(boxes) > 0 {
			t.Errorf("%s: %s: it runs %v", name, tc.reason, boxes)
		}
		if got := m.lookedUp(vault, tc.hostname); got != tc.others {
			t.Errorf("%s: %s: %s is %q for another scope, want %q", name, tc.reason, tc.hostname, got, tc.others)
		}
	}
	if t.Failed() {
		return
	}
	inShop := *m
	inShop.scope = shop
	const public = "api.names-test.example"
	m.wantSaid(m.syncOf("trusted", shop, public, "--trusted"), 0, "applied: 1 object")
	inShop.converged("trusted", 1)
	trusted := inShop.containers("trusted")[0]
	if got := m.lookedUp(vault, public); got != m.inspect(trusted).NetworkSettings.Networks[m.network].IPAddress {
		t.Errorf("%s of a source that is trusted is %q for another scope: the answers above prove nothing", public, got)
	}
	m.wantSaid(m.syncOf("own", shop, "mail."+shop, "--scope", shop), 0, "applied: 1 object")
	inShop.converged("own", 1)
	own := inShop.containers("own")[0]
	if said := m.engine("exec", own, testimage.Program, "cat", "/etc/hostname").must(); said != "mail."+shop {
		t.Errorf("it calls itself %q", said)
	}
	if got := m.lookedUp(vault, "mail."+shop); got != m.inspect(own).NetworkSettings.Networks[m.network].IPAddress {
		t.Errorf("mail.%s is %q", shop, got)
	}
}

// syncOf declares a sync with flags, whose source has one deployment with a hostname, in a scope.
func (m *machine) syncOf(name, scope, hostname string, flags ...string) cliResult {
	m.Helper()
	dir := filepath.Join(m.TempDir(), name)
	text := "deployment \"" + scope + "\" \"" + name + "\" {\n  image    = \"" + image("v1") + "\"\n  hostname = \"" + hostname +
		"\"\n}\n"
	if err := os.Mkdir(dir, 0o755); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tend.hcl"), []byte(text), 0o644); err != nil {
		m.Fatal(err)
	}
	return m.tend(append([]string{"sync", "add", name, "--dir", dir}, flags...)...)
}

// lookedUp returns the address of a name for a container; empty if there is none. The engine asks the resolvers of this
// machine for a name that it doesn't know, and they may not answer.
func (m *machine) lookedUp(container, name string) string {
	m.Helper()
	r := m.engine("exec", container, testimage.Program, "lookup", name)
	if r.err != nil {
		if !slices.ContainsFunc([]string{"no such host", "server misbehaving", "i/o timeout"}, func(said string) bool {
			return strings.Contains(r.output, said)
		}) {
			m.Fatalf("look %s up: %v: %s", name, r.err, r.output)
		}
		return ""
	}
	return strings.TrimSpace(r.output)
}
