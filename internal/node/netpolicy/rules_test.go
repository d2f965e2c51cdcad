package netpolicy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
)

// TestRules runs the transcripts of testdata: a policy and where containers are, and the table that follows. Rewrite
// them with go test ./internal/node/netpolicy -rewrite.
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "rules" {
				t.Fatalf("unknown command %s", d.Cmd)
			}
			return Rules(parse(t, d.Input))
		})
	})
}

// parse reads an Input: `allow FROM,… TO,…`, `own SUBNET BRIDGE`, `peer NAME SUBNET`, `pod NODE ADDRESS SCOPE`, where
// the node of this machine is a dot.
func parse(t *testing.T, text string) Input {
	t.Helper()
	in := Input{Local: node.Pods{}, Peers: map[string]node.Peer{}, Others: map[string]node.Pods{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch words[0] {
		case "allow":
			in.Policy.Allow = append(in.Policy.Allow,
				api.NetworkAllow{From: strings.Split(words[1], ","), To: strings.Split(words[2], ",")})
		case "own":
			in.Own, in.Bridge = netip.MustParsePrefix(words[1]), words[2]
		case "peer":
			in.Peers[words[1]], in.Others[words[1]] = node.Peer{Subnet: netip.MustParsePrefix(words[2])}, node.Pods{}
		case "pod":
			on := in.Local
			if words[1] != "." {
				on = in.Others[words[1]]
			}
			on[netip.MustParseAddr(words[2])] = words[3]
		default:
			t.Fatalf("unknown word %s", words[0])
		}
	}
	return in
}

func TestOpen(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		allow  []api.NetworkAllow
		want   bool
	}{
		"nothing": {"scopes are apart", nil, false},
		"all to all": {"nothing is left to refuse",
			[]api.NetworkAllow{{From: []string{"a"}, To: []string{"b"}}, {From: []string{"*"}, To: []string{"c", "*"}}}, true},
		"all to one": {"others stay apart", []api.NetworkAllow{{From: []string{"*"}, To: []string{"b"}}}, false},
		"one to all": {"others stay apart", []api.NetworkAllow{{From: []string{"a"}, To: []string{"*"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Open(node.Policy{Allow: test.allow}); got != test.want {
				t.Errorf("%s: got %t", test.reason, got)
			}
		})
	}
}

// TestAllowsIsOneWay: for all pairs of three scopes, exactly the listed pairs are allowed, and not the way back.
func TestAllowsIsOneWay(t *testing.T) {
	policy := node.Policy{Allow: []api.NetworkAllow{
		{From: []string{"shop"}, To: []string{"db"}}, {From: []string{"*"}, To: []string{"metrics"}},
		{From: []string{"admin"}, To: []string{"*"}},
	}}
	want := map[string]bool{
		"shop db": true, "shop metrics": true, "db metrics": true, "metrics metrics": true, "admin metrics": true,
		"admin db": true, "admin shop": true, "admin admin": true,
	}
	scopes := []string{"shop", "db", "metrics", "admin"}
	for _, from := range scopes {
		for _, to := range scopes {
			if got := allows(policy, from, to); got != want[from+" "+to] {
				t.Errorf("from %s to %s: %t", from, to, got)
			}
		}
	}
}
