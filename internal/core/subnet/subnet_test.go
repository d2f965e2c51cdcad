package subnet

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func prefix(text string) netip.Prefix {
	if text == "" {
		return netip.Prefix{}
	}
	return netip.MustParsePrefix(text)
}

var within = prefix("10.80.0.0/20")

func TestAssign(t *testing.T) {
	for _, test := range []struct {
		name    string
		nodes   map[string]Node
		given   map[string]string
		refused map[string]string
	}{
		{"the first free ones", map[string]Node{"a": {}, "b": {}},
			map[string]string{"a": "10.80.0.0/22", "b": "10.80.4.0/22"}, nil},
		{"what a node has stays", map[string]Node{"a": {}, "b": {Has: prefix("10.80.0.0/22")}},
			map[string]string{"a": "10.80.4.0/22", "b": "10.80.0.0/22"}, nil},
		{"a network that exists becomes the node's",
			map[string]Node{"a": {Has: prefix("10.80.0.0/22"), Uses: prefix("172.18.0.0/16")}},
			map[string]string{"a": "172.18.0.0/16"}, nil},
		{
			"two of one subnet", map[string]Node{"a": {Uses: prefix("172.18.0.0/16")}, "b": {Uses: prefix("172.18.0.0/16")}},
			map[string]string{"a": "172.18.0.0/16"},
			map[string]string{"b": "its containers use 172.18.0.0/16, and node a has 172.18.0.0/16"},
		},
		{
			"the one who has it keeps it",
			map[string]Node{"a": {Uses: prefix("172.18.0.0/16")},
				"b": {Has: prefix("172.18.0.0/16"), Uses: prefix("172.18.0.0/16")}},
			map[string]string{"b": "172.18.0.0/16"},
			map[string]string{"a": "its containers use 172.18.0.0/16, and node b has 172.18.0.0/16"},
		},
		{"what a machine is in is left out", map[string]Node{"a": {}, "b": {Taken: []netip.Prefix{prefix("10.80.1.0/24")}}},
			map[string]string{"a": "10.80.4.0/22", "b": "10.80.8.0/22"}, nil},
		{
			"none is left", map[string]Node{"a": {}, "b": {}, "c": {}, "d": {}, "e": {}},
			map[string]string{"a": "10.80.0.0/22", "b": "10.80.4.0/22", "c": "10.80.8.0/22", "d": "10.80.12.0/22"},
			map[string]string{"e": "no /22 in 10.80.0.0/20 is free of other nodes and of what its machine reaches otherwise"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			given, refused := Assign(within, 22, test.nodes)
			texts := map[string]string{}
			for name, subnet := range given {
				texts[name] = subnet.String()
			}
			if test.refused == nil {
				test.refused = map[string]string{}
			}
			if diff := cmp.Diff(test.given, texts) + cmp.Diff(test.refused, refused); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheEndOfAllAddresses(t *testing.T) {
	_, refused := Assign(prefix("255.255.255.0/24"), 24, map[string]Node{"a": {}, "b": {}})
	if !strings.Contains(refused["b"], "is free") {
		t.Error(refused)
	}
}

// TestAssignProperties: no two subnets overlap, every node has one or a reason, and what was decided stays so.
func TestAssignProperties(t *testing.T) {
	subnets := rapid.SampledFrom([]netip.Prefix{{}, prefix("10.80.0.0/22"), prefix("10.80.4.0/22"), prefix("10.80.0.0/20"),
		prefix("172.18.0.0/16"), prefix("172.18.4.0/22")})
	rapid.Check(t, func(t *rapid.T) {
		nodes := map[string]Node{}
		for i := range rapid.IntRange(0, 7).Draw(t, "nodes") {
			nodes[fmt.Sprint("n", i)] = Node{
				Has: subnets.Draw(t, "has"), Uses: subnets.Draw(t, "uses"), Taken: rapid.SliceOfN(subnets, 0, 2).Draw(t, "taken"),
			}
		}
		given, refused := Assign(within, 22, nodes)
		for name, node := range nodes {
			if given[name].IsValid() == (refused[name] != "") {
				t.Fatalf("%s has %v and is refused with %q", name, given[name], refused[name])
			}
			if node.Uses.IsValid() && given[name].IsValid() && given[name] != node.Uses {
				t.Fatalf("%s uses %v and got %v", name, node.Uses, given[name])
			}
			for other, subnet := range given {
				if other != name && subnet.Overlaps(given[name]) {
					t.Fatalf("%s and %s: %v, %v", name, other, given[name], subnet)
				}
			}
			node.Has = given[name]
			nodes[name] = node
		}
		if again, _ := Assign(within, 22, nodes); !maps.Equal(again, given) {
			t.Fatalf("%v, then %v", given, again)
		}
	})
}
