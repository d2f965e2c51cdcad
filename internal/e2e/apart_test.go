//go:build integration

package e2e

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// apartVariable is set for the process whose machines have their agent in a process of its own.
const apartVariable = "TEND_TEST_APART"

var apart = os.Getenv(apartVariable) != ""

// apartStories are told a second time with `tend server --no-agent` and `tend agent`, which meet over TLS.
var apartStories = []string{
	"TestDeploy", "TestHealsInPlace", "TestFrozenStaysStopped", "TestScaleTouchesNothingElse", "TestRollStartFirst", "TestRollStopFirst",
	"TestConfigRollsOnceAndTheSameValueNever", "TestRollback", "TestAutomaticRollback", "TestReleaseCommandsSeeTheRelease", "TestAssetChanges",
	"TestSecretFiles", "TestBuildFromADockerfile", "TestAJobIsTriedAgain",
}

// TestDeploymentsOverTheNetwork tells the stories of deployments again, with the agent as a process of its own.
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
			t.Errorf("%s was not told", story)
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
		token, err := m.client.JoinToken(m.Context(), time.Minute)
		if err != nil {
			m.Fatal(err)
		}
		args = append(args, "--join", token.Address, "--token", token.Token)
	}
	m.agent = spawn(m.T, append(args, m.flags...), m.env...)
	m.until("the agent is connected", func() bool {
		nodes, err := m.client.Nodes(m.Context())
		return err == nil && len(nodes.Items) == 1 && nodes.Items[0].Ready && nodes.Items[0].Alive
	})
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
