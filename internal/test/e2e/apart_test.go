//go:build integration

package e2e

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// apartVariable is set for the process whose machines have their agent in a process of its own.
const apartVariable = "TEND_TEST_APART"

var apart = os.Getenv(apartVariable) != ""

// apartStories run a second time with `tend server --no-agent` and `tend agent`, which meet over TLS. The build tag
// long adds others.
var apartStories = []string{"TestDeploy", "TestSecretFiles"}

// TestDeploymentsOverTheNetwork runs the tests of deployments again, with the agent as a process of its own.
func TestDeploymentsOverTheNetwork(t *testing.T) {
	if apart {
		t.Fatal("it runs itself")
	}
	again := exec.Command(os.Args[0], "-test.run=^("+strings.Join(apartStories, "|")+")$", "-test.timeout=20m", "-test.v")
	again.Env = append(os.Environ(), apartVariable+"=1")
	output, err := again.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	for _, story := range apartStories {
		if !strings.Contains(string(output), "--- PASS: "+story+" ") {
			t.Errorf("%s did not run", story)
		}
	}
}

// nodes returns the address where the machine's server listens for agents: the same in each of its lives.
func (m *machine) nodes() string {
	if m.nodesAt != "" {
		return m.nodesAt
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.Fatal(err)
	}
	defer listener.Close()
	m.nodesAt = listener.Addr().String()
	return m.nodesAt
}

// startAgent starts the machine's agent, which joins the first time.
func (m *machine) startAgent() {
	m.Helper()
	if m.agentRoot == "" {
		m.agentRoot = m.TempDir()
	}
	args := []string{"agent", "--root", m.agentRoot, "--network", m.network}
	if _, err := os.Stat(m.agentRoot + "/joined"); err != nil {
		token, err := m.client.JoinToken(m.Context(), api.JoinTokenRequest{Role: api.JoinAsIngress, Uses: 10})
		if err != nil {
			m.Fatal(err)
		}
		args = append(args, "--join", token.Address, "--token", token.Token)
	}
	m.agent = spawn(m.T, append(args, m.flags...), m.env...)
	m.connected(1)
}

// killAll kills the server and, if it is a separate process, the agent; start starts both.
func (m *machine) killAll() {
	m.process.kill()
	if m.agent != nil {
		m.agent.kill()
		m.agent = nil
	}
}

// connected waits for a number of nodes.
func (m *machine) connected(n int) {
	m.Helper()
	m.until("the agents are connected", func() bool {
		nodes, err := m.client.Nodes(m.Context())
		ready := 0
		for _, node := range nodes.Items {
			if node.Ready && node.Alive {
				ready++
			}
		}
		return err == nil && ready == n
	})
}

// A killed agent leaves its containers alone, and takes them over when it starts again; so does an agent whose server
// was down. Containers that ended meanwhile are healed then.
func TestAnAgentOfItsOwn(t *testing.T) {
	m := newMachine(t)
	m.apart = true
	m.start()
	m.deploy(m.manifest("app", replicas(2)))
	pods := m.pods("app")
	before := m.running("app")
	m.agent.kill()
	m.process.kill()
	m.start()
	m.startAgent()
	m.until("both are ready again", func() bool { return m.status("app").Ready == 2 })
	if after := m.running("app"); after[pods[0].Name].ID != before[pods[0].Name].ID ||
		after[pods[1].Name].ID != before[pods[1].Name].ID {
		t.Errorf("the containers are %v, were %v", after, before)
	}
	m.process.kill()
	started := m.inspect(pods[0].Name).State.StartedAt
	m.engine("kill", pods[0].Name).must()
	m.start()
	m.until("it is healed", func() bool {
		_, running := m.running("app")[pods[0].Name]
		return running && m.inspect(pods[0].Name).State.StartedAt != started && m.status("app").Ready == 2
	})
	m.exactly("app", 2, "v1")
	m.delete("app")
	m.gone("app")
}
