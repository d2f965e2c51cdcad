//go:build integration && long

package hosts

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAServerApartFromTheOthers: the network separates a server from the other servers, but not from an agent. If the
// agent used that server, it switches to another before its node counts as lost, and no container there is replaced.
func TestAServerApartFromTheOthers(t *testing.T) {
	l := newLab(t, 4)
	l.flags = []string{"--node-timeout", "15s", "--heartbeat", "2s"}
	servers, agent := l.hosts[:3], l.hosts[3]
	servers[0].startServer("--peer-listen", servers[0].address+":2380", "--no-agent")
	for _, h := range servers[1:] {
		h.startServer(append([]string{"--peer-listen", h.address + ":2380", "--no-agent"},
			l.joining("nodes", "add", "--server")...)...)
	}
	agent.startAgent()
	l.until("it has joined", func() bool { return strings.Count(l.command("nodes").output, "ready") == 1 })
	l.must("apply", "-f", l.declare("wireguard", 1, 2))
	observed := l.observe()
	from := time.Now().UnixNano()
	for _, apart := range servers { // an agent has connections to all: so each is kept from the others once
		others := slices.DeleteFunc(slices.Clone(servers), func(h *host) bool { return h == apart })
		rules := func(do string) {
			for _, other := range others {
				for _, rule := range [][]string{{"INPUT", "-s"}, {"OUTPUT", "-d"}} {
					if said := apart.run("iptables", do, rule[0], rule[1], other.address, "-j", "DROP"); said.err != nil {
						t.Fatal(said.output)
					}
				}
			}
		}
		rules("-I")
		if apart == servers[0] { // the server that an agent tries first when it starts
			l.until("it refuses what it can't store",
				func() bool { return strings.Contains(apart.command("cordon", agent.name).output, "no quorum") })
			agent.tend.end(syscall.SIGKILL)
			agent.startAgent()
		}
		began := time.Now()
		l.until("the time is over after which its node would be lost", func() bool {
			if nodes := others[0].command("nodes").output; strings.Contains(nodes, "silent") || strings.Contains(nodes, "lost") {
				t.Fatalf("the node is silent:\n%s", nodes)
			}
			return time.Since(began) > 25*time.Second
		})
		rules("-D")
		l.until("all servers are up", func() bool { return strings.Count(l.command("servers").output, " up ") == 3 })
	}
	for _, is := range observed.all() {
		if is.at > from {
			t.Errorf("something was done to a pod: %s", describe(is))
		}
	}
}
