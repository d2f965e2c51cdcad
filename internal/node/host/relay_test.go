package host

import (
	"strings"
	"testing"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi/authority"
)

// TestMayAsk goes through the machines that connect to the pods of a node, and their targets.
func TestMayAsk(t *testing.T) {
	others := map[string]node.Relay{"edge": {UID: "e", Asks: true}, "worker": {UID: "w"}}
	const unknown, hosts = "is not known here as node", "serves no ingresses"
	for _, test := range []struct {
		machine authority.Machine
		every   bool // a port of every node leads to the target
		want    string
	}{
		{authority.Machine{Node: "edge", UID: "e"}, false, ""},
		{authority.Machine{Node: "edge", UID: "e"}, true, ""},
		{authority.Machine{Node: "worker", UID: "w"}, false, hosts},
		{authority.Machine{Node: "worker", UID: "w"}, true, ""},
		{authority.Machine{Node: "edge", UID: "w"}, true, unknown}, // another machine with the same name
		{authority.Machine{Node: "gone", UID: "g"}, true, unknown},
		{authority.Machine{}, true, unknown},
	} {
		err := mayAsk(others, test.machine, test.every)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v, to a port of every node: %t: %v, want %q", test.machine, test.every, err, test.want)
		}
	}
}
