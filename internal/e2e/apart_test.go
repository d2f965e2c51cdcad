//go:build integration

package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/testimage"
)

// apartVariable is set for the process whose machines have their agent in a process of its own.
const apartVariable = "TEND_TEST_APART"

var apart = os.Getenv(apartVariable) != ""

// apartStories run a second time with `tend server --no-agent` and `tend agent`, which meet over TLS. The build tag long adds
// others.
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

// killAll ends the server and, where it is a process of its own, the agent; start starts both.
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

// twoAgents starts a server with two agents that run plain processes: images in the root of one aren't in that of the other,
// which is returned.
func twoAgents(t *testing.T) (m *machine, other string) {
	t.Helper()
	m = newMachine(t, "--runtime", "process")
	m.apart = true
	m.agentRoot = t.TempDir()
	other = t.TempDir()
	for _, root := range []string{m.root, m.agentRoot, filepath.Dir(m.agentRoot), other} { // who the processes run as passes through
		if err := os.Chmod(root, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	m.start()
	token, err := m.client.JoinToken(t.Context(), api.JoinTokenRequest{Role: api.JoinAsIngress, Uses: 10})
	if err != nil {
		t.Fatal(err)
	}
	second := spawn(t, append([]string{"agent", "--root", other, "--node", "second", "--join", token.Address, "--token", token.Token}, m.flags...), m.env...)
	t.Cleanup(second.kill)
	m.connected(2)
	return m, other
}

// TestAnImageOfOneNodeTravels: an image that no registry has, and that only one node has, runs on both.
func TestAnImageOfOneNodeTravels(t *testing.T) {
	m, other := twoAgents(t)
	program, err := testimage.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(other, "images", "only-here")
	if err := os.Mkdir(image, 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(image, "server"), content, 0o755); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(t.TempDir(), "tend.hcl")
	text := "deployment \"" + m.scope + "\" \"app\" {\n  image = \"only-here\"\n  command = [\"/server\", \"sleep\", \"1h\"]\n  replicas = 2\n}\n"
	if err := os.WriteFile(manifest, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	defer m.delete("app") // processes outlive their server
	m.wantSaid(m.tend("apply", "-f", manifest), 0, "2 of 2 replicas run v1")
	images := map[string]string{}
	for _, pod := range m.pods("app") {
		images[pod.Node] = pod.ImageID
	}
	if len(images) != 2 || images["second"] == "" {
		t.Fatalf("the pods' images by node: %v", images)
	}
	copied := filepath.Join(m.agentRoot, "process", "images", strings.TrimPrefix(images["second"], "sha256:"), "server")
	if got, err := os.ReadFile(copied); !bytes.Equal(got, content) {
		t.Errorf("the first node runs %d other bytes: %v", len(got), err)
	}
	if _, err := os.Stat(filepath.Join(m.agentRoot, "only-here")); !os.IsNotExist(err) {
		t.Errorf("the first node has a folder of that name: %v", err)
	}
}

// An agent that is killed leaves its containers alone, and takes them over when it starts again; so does one whose server
// was away. What ended meanwhile is healed then.
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
	if after := m.running("app"); after[pods[0].Name].ID != before[pods[0].Name].ID || after[pods[1].Name].ID != before[pods[1].Name].ID {
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
