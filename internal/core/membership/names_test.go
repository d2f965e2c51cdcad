package membership_test

import (
	"strings"
	"testing"

	"tend.dev/tend/internal/core/membership"
)

// TestNameOf: a server is called like its machine, whichever of the cluster it is; one that has a name keeps it.
func TestNameOf(t *testing.T) {
	for reason, test := range map[string]struct {
		flag, remembered string
		store            bool
		want             string
	}{
		"the first, or one that joins":       {want: "h1"},
		"the flag counts":                    {flag: "a", remembered: "b", want: "a"},
		"a root keeps its name":              {remembered: "b", store: true, want: "b"},
		"the root of an earlier version":     {store: true, want: "tend-0"},
		"one that is renamed, of an earlier": {flag: "a", store: true, want: "a"},
	} {
		if got := membership.NameOf(test.flag, test.remembered, test.store, "h1"); got != test.want {
			t.Errorf("%s: %s, want %s", reason, got, test.want)
		}
	}
}

// TestANameIsOfOneMachine: its server and its node may have it, nobody else's.
func TestANameIsOfOneMachine(t *testing.T) {
	servers := []membership.Server{{Name: "a", Voting: true}, {Name: "b", Voting: true}}
	node := func(name string) membership.Node {
		switch name {
		case "a", "a-2":
			return membership.Node{Name: name, Server: "a"}
		case "worker":
			return membership.Node{Name: name, Agent: true}
		case "former":
			return membership.Node{Name: name, Server: "removed"}
		}
		return membership.Node{Name: name}
	}
	for reason, test := range map[string]struct{ server, node, says string }{ // the names of a server and of its node
		"names that nobody has":                  {"c", "c", ""},
		"without an agent":                       {"c", "", ""},
		"two names":                              {"c", "c-2", ""},
		"called like an agent, maybe of its own": {"worker", "", ""},
		"a node called like another server":      {"c", "b", ""},
		"its own node, again":                    {"a", "a", ""},
		"its own node of another name":           {"a", "a-2", ""},
		"the node of a server that was removed":  {"former", "former", ""},
		"a node called like a node":              {"c", "worker", "another machine is node worker"},
		"a node called like a server's":          {"c", "a-2", "is the node of server a"},
	} {
		refused := membership.CheckNode(test.server, node(test.node), servers)
		if (refused == nil) != (test.says == "") ||
			refused != nil && (!strings.Contains(refused.Why, test.says) || refused.Next == "") {
			t.Errorf("%s: %v, want %q", reason, refused, test.says)
		}
	}
	for name, says := range map[string]string{
		"c": "", "worker": "", "former": "", "a": "is the node of server a", "a-2": "is the node of server a", "b": "",
	} {
		refused := membership.CheckAgent(node(name), servers)
		if (refused == nil) != (says == "") ||
			refused != nil && (!strings.Contains(refused.Why, says) || refused.Next == "") {
			t.Errorf("an agent called %s: %v, want %q", name, refused, says)
		}
	}
}

// TestStateOf: what the members of the store say of a server.
func TestStateOf(t *testing.T) {
	alone := []membership.Server{{Name: "a", Address: "https://a:1", Voting: true}}
	added := append(alone[:1:1], membership.Server{Address: "https://b:1"})
	joining := append(alone[:1:1], membership.Server{Name: "b", Address: "https://b:1"})
	two := append(alone[:1:1], membership.Server{Name: "b", Address: "https://b:1", Voting: true})
	outside := []membership.Server{{Name: "a", External: true}, {Name: "b", Address: "b:1", External: true}}
	for reason, test := range map[string]struct {
		all           []membership.Server
		name, address string
		state         membership.State
		as            membership.Command
	}{
		"nobody has it":                     {alone, "b", "https://b:1", membership.Absent, membership.Join},
		"the only one":                      {alone, "a", "https://a:1", membership.Only, membership.Join},
		"the only one that votes":           {joining, "a", "https://a:1", membership.Only, membership.Join},
		"never started":                     {added, "b", "https://b:1", membership.Added, membership.Join},
		"never started, under a new name":   {added, "c", "https://b:1", membership.Added, membership.Join},
		"another one that never started":    {added, "c", "https://c:1", membership.Added, membership.JoinElsewhere},
		"started":                           {joining, "b", "https://b:1", membership.Joining, membership.Join},
		"started, and another joins":        {joining, "c", "https://c:1", membership.Added, membership.JoinElsewhere},
		"one of two":                        {two, "b", "https://b:1", membership.Voting, membership.Join},
		"one of two, from elsewhere":        {two, "b", "https://c:1", membership.Voting, membership.JoinElsewhere},
		"one of two, under another name":    {two, "c", "https://b:1", membership.Voting, membership.JoinRenamed},
		"nobody has it, and two are there":  {two, "c", "https://c:1", membership.Absent, membership.Join},
		"on an external etcd":               {outside, "b", "", membership.External, membership.JoinElsewhere},
		"nobody has it on an external etcd": {outside, "c", "", membership.Absent, membership.Join},
	} {
		as, state, _ := membership.Asked(test.all, test.name, test.address)
		if as != test.as || state != test.state {
			t.Errorf("%s: %s of one that is %s, want %s of one that is %s", reason, as, state, test.as, test.state)
		}
	}
}
