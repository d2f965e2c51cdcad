package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestServersSayWhatIsMissing: two servers that vote get a warning with a next step, and one that is down shows where
// it is.
func TestServersSayWhatIsMissing(t *testing.T) {
	voter := func(name string) api.Server {
		return api.Server{Name: name, State: api.ServerUp, Vote: api.VotesAsServer, Address: name + ":8688",
			Store: "https://" + name + ":2380"}
	}
	learner := voter("c")
	learner.State, learner.Vote = api.ServerJoining, api.LearnsToVote
	external := voter("b")
	external.Vote = ""
	down := api.Server{Name: "b", State: api.ServerDown, Vote: api.VotesAsServer, Store: "https://10.0.0.2:2380"}
	const pair = "warning: two servers are worse than one: if either is lost, nothing can be written\n" +
		"  Next: tend nodes add --server prints the command that adds a third\n"
	for name, tc := range map[string]struct {
		servers []api.Server
		quorum  string
		row     []string // words of the last row
		warning string
	}{
		"one":                 {servers: []api.Server{voter("a")}, row: []string{"a:8688"}},
		"two":                 {servers: []api.Server{voter("a"), voter("b")}, row: []string{"b:8688"}, warning: pair},
		"a third one joins":   {servers: []api.Server{voter("a"), voter("b"), learner}, row: []string{"joining"}},
		"three":               {servers: []api.Server{voter("a"), voter("c"), voter("b")}, row: []string{"b:8688"}},
		"an etcd of your own": {servers: []api.Server{voter("a"), external}, row: []string{"b:8688"}},
		"one of two is down": {servers: []api.Server{voter("a"), down}, quorum: "no quorum", row: []string{"10.0.0.2"},
			warning: "warning: nothing can be written: no quorum\n"},
	} {
		var out, said bytes.Buffer
		a := &app{streams: streams{out: &out, err: &said}}
		if err := a.printServers(api.Servers{Items: tc.servers, Quorum: tc.quorum}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		for _, word := range tc.row {
			if last := strings.Fields(lines[len(lines)-1]); !slices.Contains(last, word) {
				t.Errorf("%s: %q lacks %s", name, last, word)
			}
		}
		if said.String() != tc.warning {
			t.Errorf("%s: it says %q, want %q", name, said.String(), tc.warning)
		}
	}
}
