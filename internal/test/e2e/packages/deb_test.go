//go:build integration

package packages

import (
	"context"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

const web = `deployment "demo" "web" {
  image    = "/srv/web"
  command  = ["/server"]
  replicas = 2
}`

// TestADeb: a deb is installed, systemd starts its units, an upgrade restarts them, a removal stops them and leaves the
// state, and a purge removes it. Tend's containers run through all of it.
func TestADeb(t *testing.T) {
	m := newMachine(t)
	m.run("dpkg -i /debs/" + older + ".deb")
	m.is("systemctl is-active tend tend-agent", "inactive\ninactive")
	m.is("systemctl is-enabled tend tend-agent", "disabled\ndisabled")
	m.is("systemd-analyze verify tend.service tend-agent.service", "")
	m.is("stat -c %a /etc/tend/agent.env /etc/tend/server.env", "600\n600")
	m.is("tend --version", "tend version v"+older)

	m.startServer()
	before := m.processes()
	if len(strings.Fields(before)) != 2 {
		m.Fatalf("processes of the deployment: %s", before)
	}
	m.startAgent()
	m.refusesNothing()
	m.upgrade(before)
	m.crash(before)
	m.removeAndPurge(before)
}

// startServer configures the server, starts it, and deploys. `systemctl start` returns when the server is ready, so the
// first command finds it.
func (m *machine) startServer() {
	m.Helper()
	m.run("printf 'TEND_RUNTIME=process\nTEND_NODE_LISTEN=127.0.0.1:8688\nTEND_LOG_FORMAT=json\n' > /etc/tend/server.env")
	m.run("systemctl enable --now tend")
	m.run("tend nodes") // the node reports itself a moment later
	m.until("the node is ready", func() bool {
		nodes := m.try("tend nodes")
		return strings.Contains(nodes, "one ") && strings.Contains(nodes, " ready ")
	})
	if log := m.run("journalctl -o cat -u tend"); !strings.Contains(log, `"msg":"ready"`) {
		m.Fatalf("the log is not as /etc/tend/server.env says: %s", log)
	}
	program, err := testimage.Binary(context.Background())
	if err == nil {
		err = quiet("docker", "cp", filepath.Dir(program), m.container+":/srv/web")
	}
	if err != nil {
		m.Fatal(err)
	}
	m.run("cat > /srv/web.hcl <<'EOF'\n" + web + "\nEOF\ntend apply -f /srv/web.hcl")
}

// startAgent joins a second node, on the same machine with a root of its own.
func (m *machine) startAgent() {
	m.Helper()
	join := strings.Fields(m.run("tend nodes add | grep -- --join"))
	settings := "TEND_ROOT=/var/lib/tend-agent\nTEND_NODE=two\nTEND_RUNTIME=process\nTEND_INGRESS_HTTP=off\nTEND_INGRESS_HTTPS=off\nTEND_CALLBACK_PORT=0\n"
	for i, word := range join[:len(join)-1] {
		switch word {
		case "--join":
			settings += "TEND_JOIN_SERVER=" + join[i+1] + "\n"
		case "--token":
			settings += "TEND_JOIN_TOKEN=" + join[i+1] + "\n"
		}
	}
	m.run("cat > /etc/tend/agent.env <<'EOF'\n" + settings + "EOF\nsystemctl enable --now tend-agent")
	m.is("systemctl show -p StatusText --value tend-agent", "every pod of this machine was reconciled once")
	m.until("the second node is ready", func() bool {
		_, after, found := strings.Cut(m.try("tend nodes"), "\ntwo ")
		line, _, _ := strings.Cut(after, "\n")
		return found && strings.Contains(line, " ready ")
	})
}

// upgrade installs the newer package over the older: containers keep running, under a new server and a new agent.
func (m *machine) upgrade(before string) {
	m.Helper()
	const pids = "systemctl show -p MainPID --value tend tend-agent"
	kept, servers := m.run("cat /var/lib/tend/token"), m.run(pids)
	m.run("dpkg -i /debs/" + newer + ".deb")
	m.is("systemctl is-active tend tend-agent", "active\nactive")
	m.is("cat /var/lib/tend/token", kept)
	if after := m.run(pids); after == servers {
		m.Errorf("the upgrade restarted nothing: %s", after)
	}
	if answer := m.run("tend version"); strings.Count(answer, " v"+newer) != 2 {
		m.Errorf("after the upgrade: %s", answer)
	}
	if settings := m.run("cat /etc/tend/server.env"); !strings.Contains(settings, "TEND_RUNTIME=process") {
		m.Errorf("the upgrade replaced a file that was edited: %s", settings)
	}
	m.stillRuns(before)
}

// crash kills the server: systemd starts it again.
func (m *machine) crash(before string) {
	m.Helper()
	killed := m.run("systemctl show -p MainPID --value tend")
	m.run("kill -KILL " + killed)
	m.until("systemd started the server again", func() bool {
		pid := m.try("systemctl show -p MainPID --value tend")
		return pid != killed && pid != "0" && m.try("systemctl is-active tend") == "active"
	})
	m.stillRuns(before)
}

// stillRuns demands that the deployment is ready, on the processes it had.
func (m *machine) stillRuns(before string) {
	m.Helper()
	if after := m.processes(); after != before {
		m.Errorf("the processes were\n%s\nand are\n%s", before, after)
	}
	if list := m.run("tend get demo/web"); !strings.Contains(list, "2/2") {
		m.Errorf("the deployment: %s", list)
	}
}

func (m *machine) removeAndPurge(before string) {
	m.Helper()
	kept := m.run("cat /var/lib/tend/token")
	m.run("dpkg -r tend")
	m.is("systemctl is-active tend tend-agent", "inactive\ninactive")
	m.is("ls /usr/bin/tend /usr/lib/systemd/system/tend* /etc/systemd/system/multi-user.target.wants/tend* 2>/dev/null",
		"")
	m.is("cat /var/lib/tend/token", kept)
	if after := m.processes(); after != before {
		m.Errorf("the removal ended what ran: %s, was %s", after, before)
	}

	m.run("dpkg -i /debs/" + newer + ".deb && systemctl start tend")
	m.stillRuns(before)

	m.run("tend delete deployment demo/web --yes && dpkg -P tend")
	m.is("ls -d /var/lib/tend /etc/tend /usr/share/doc/tend /usr/bin/tend 2>/dev/null", "")
	if after := m.processes(); after != "" {
		m.Errorf("what was deleted runs: %s", after)
	}
}

// TestWhatADebHolds: the notices name every module that the packaged binary says it is made of, each command has its
// page, and the unit starts the binary that the package installs.
func TestWhatADebHolds(t *testing.T) {
	root := t.TempDir()
	if err := quiet("dpkg-deb", "-x", debs[older], root); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	linked, err := buildinfo.ReadFile(filepath.Join(root, "usr/bin/tend"))
	if err != nil || len(linked.Deps) < 100 {
		t.Fatalf("%v, %v", linked, err)
	}
	notices := read("usr/share/doc/tend/THIRD-PARTY-NOTICES")
	for _, module := range linked.Deps {
		if !strings.Contains(notices, "\n"+module.Path+" "+module.Version+" [") {
			t.Errorf("the notices don't name %s %s", module.Path, module.Version)
		}
	}
	for _, name := range []string{"usr/share/man/man1/tend.1.gz", "usr/share/man/man1/tend-config-set.1.gz",
		"usr/share/doc/tend/LICENSE", "usr/share/doc/tend/copyright"} {
		if read(name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	for unit, command := range map[string]string{"tend.service": "server", "tend-agent.service": "agent"} {
		if text := read("usr/lib/systemd/system/" + unit); !strings.Contains(text, "\nExecStart=/usr/bin/tend "+command+
			"\n") || strings.Contains(text, "/usr/local") {
			t.Errorf("%s:\n%s", unit, text)
		}
	}
}
