//go:build integration

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// patience is the time that a condition may take on a busy machine before the test fails. It costs nothing where it
// holds.
const patience = 3 * time.Minute

// machine is one test's Tend: a root, a network and a scope of its own, and the server over them.
type machine struct {
	*testing.T
	root    string
	network string
	scope   string
	kind    api.Kind // the kind of the objects that a test names; default deployment
	flags   []string
	env     []string // the server's environment, beside the test's own
	*process
	// apart: the agent is a process of its own, with its root and the address where it joins.
	apart     bool
	agent     *process
	agentRoot string
	nodesAt   string
	client    *client.Client
	last      []func() // run once the machine's containers are gone
}

// newMachine prepares a machine; start starts its server. flags are the server's beyond those every test needs.
func newMachine(t *testing.T, flags ...string) *machine {
	t.Helper()
	t.Parallel()
	return machineAt(t, "t"+random(), flags...)
}

// beside returns another instance on the same engine, for the same scope.
func (m *machine) beside() *machine {
	m.Helper()
	other := machineAt(m.T, m.scope)
	m.Cleanup(m.process.kill) // before the other cleans up, so that it doesn't heal removed containers
	return other
}

func machineAt(t *testing.T, scope string, flags ...string) *machine {
	t.Helper()
	root, err := os.MkdirTemp("", "tend") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{T: t, root: root, network: "tendtest-" + random(), scope: scope, kind: api.KindDeployment,
		flags: flags, apart: apart}
	if m.client, err = client.New(client.Options{Server: m.address()}); err != nil {
		t.Fatal(err)
	}
	scopes.Lock()
	scopes.names = append(scopes.names, scope)
	scopes.Unlock()
	t.Cleanup(m.clean)
	return m
}

func (m *machine) address() string { return "unix://" + filepath.Join(m.root, "tend.sock") }

// start starts a server and waits until it is ready.
func (m *machine) start() *machine {
	m.Helper()
	m.launch("server")
	m.until("the server is ready", func() bool {
		readiness, err := m.client.Readiness(m.Context())
		return err == nil && readiness.Ready
	})
	if m.apart && m.agent == nil {
		m.startAgent()
	}
	return m
}

// launch starts the binary's server or dev command and does not wait.
func (m *machine) launch(command string, more ...string) {
	m.Helper()
	args := []string{command, "--root", m.root, "--http", "off", "--network", m.network}
	if m.apart && command == "server" {
		args = append(args, "--no-agent", "--node-listen", m.nodes())
	}
	m.process = spawn(m.T, append(append(args, m.flags...), more...), m.env...)
}

// clean ends the server and removes what it made, and nothing else.
func (m *machine) clean() {
	for _, p := range []*process{m.agent, m.process} {
		if p != nil {
			p.kill()
		}
	}
	m.client.Close()
	for who, p := range map[string]*process{"server": m.process, "agent": m.agent} {
		if m.Failed() && p != nil {
			m.Logf("the %s's last words:\n%s", who, p.output.tail())
		}
	}
	m.removeContainers("tend.scope=" + m.scope)
	for _, done := range m.last {
		done()
	}
	m.removeNetwork()
	if err := os.RemoveAll(m.root); err != nil {
		m.Error(err)
	}
}

// afterwards registers a function to run once the machine's server and containers are gone.
func (m *machine) afterwards(done func()) { m.last = append(m.last, done) }

// until waits for a condition.
func (m *machine) until(what string, holds func() bool) {
	m.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			m.dump()
			m.Fatalf("in vain: %s", what)
		}
	}
}

func (m *machine) dump() {
	objects, _ := m.client.Objects(m.Context(), m.kind, client.ObjectFilter{})
	pods, _ := m.client.Pods(m.Context(), client.PodFilter{})
	for _, v := range []any{objects, pods} {
		out, _ := json.MarshalIndent(v, "", " ")
		m.Log(string(out))
	}
}
