package cli

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
)

func TestWrapped(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		width        int
		want         string
	}{
		"Any":    {"a pipe gets the text as it is", "error: one two\tthree  \n", 0, "error: one two\tthree  \n"},
		"Fits":   {"a line of exactly the width stays", "one two", 7, "one two"},
		"Words":  {"it breaks between words, and indents the rest", "one two three four", 9, "one two\n    three\n    four"},
		"Indent": {"the rest hangs below its own line", "  Next: do it now\nend", 13, "  Next: do it\n      now\nend"},
		"Gap":    {"a gap goes where the line breaks and stays elsewhere", "a  bb   cccccccc", 12, "a  bb\n    cccccccc"},
		"Long":   {"a long word stays whole, for the terminal", "see http://host/path now", 12, "see\n    http://host/path\n    now"},
		"Prompt": {"a question keeps its last space", "Go on? [y/N] ", 20, "Go on? [y/N] "},
		"Colour": {"escape sequences take no room", "\x1b[31mone\x1b[0m two", 7, "\x1b[31mone\x1b[0m two"},
		"Tab":    {"a tab takes room", "a\tb c", 6, "a    b\n   c"},
		"Narrow": {"the indentation leaves room for the text", "        one two", 12, "        one\n      two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, wrapped(tc.text, tc.width)); diff != "" {
				t.Errorf("%s:\n%s", tc.reason, diff)
			}
		})
	}
}

// widths are those of the terminals in testdata/tables.txt.
var widths = []int{40, 60, 80, 120}

// TestTables: on terminals of each width the tables look as in testdata/tables.txt. Lines fit, and the first column and
// the state are always there.
func TestTables(t *testing.T) {
	var found strings.Builder
	for _, table := range wideTables() {
		for _, width := range widths {
			text := table.at(t, width)
			fmt.Fprintf(&found, "-- %s, %d columns --\n%s", table.name, width, text)
			checkWidth(t, table.name, text, width)
			for _, title := range table.always {
				if !strings.Contains(text, title) {
					t.Errorf("%s at %d columns has no %s", table.name, width, title)
				}
			}
		}
	}
	const path = "testdata/tables.txt"
	if *rewrite {
		if err := os.WriteFile(path, []byte(found.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(found.String(), "\n")); diff != "" {
		t.Errorf("after a change on purpose: go test ./internal/cli -run TestTables -rewrite\n%s", diff)
	}
}

// checkWidth finds lines that a terminal would break, unless a word is too long for any line.
func checkWidth(t *testing.T, name, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if ansi.StringWidth(line) > width && len(strings.Fields(line)) > 1 {
			t.Errorf("%s has a line of %d columns, at most %d fit:\n%s", name, ansi.StringWidth(line), width, line)
		}
	}
}

// TestTablesAreWhole: a pipe, and -o wide on a terminal, get every column and every cell.
func TestTablesAreWhole(t *testing.T) {
	for _, table := range wideTables() {
		for name, text := range map[string]string{"a pipe": table.at(t, 0), "-o wide": table.wide(t, 40)} {
			got := strings.Join(strings.Fields(text), " ")
			for i, title := range table.listing.header {
				for _, cell := range append([]string{title}, cellsOf(table.listing, i)...) {
					if !strings.Contains(got, strings.Join(strings.Fields(cell), " ")) {
						t.Errorf("%s of %s lacks %q:\n%s", name, table.name, cell, text)
					}
				}
			}
		}
	}
}

func cellsOf(l listing, column int) (cells []string) {
	for _, row := range l.rows {
		cells = append(cells, row[column])
	}
	return cells
}

// wideTable is a table whose cells are long. A section is indented below a title.
type wideTable struct {
	name    string
	listing listing
	section bool
	always  []string
}

func (w wideTable) at(t *testing.T, width int) string {
	t.Helper()
	var out strings.Builder
	s := streams{out: &out, columns: width}
	var err error
	if w.section {
		err = (&app{streams: s}).section("Pods", w.listing)
	} else {
		err = w.listing.write(s, "table")
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (w wideTable) wide(t *testing.T, width int) string {
	t.Helper()
	var out strings.Builder
	if err := w.listing.write(streams{out: &out, columns: width}, "wide"); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func wideTables() []wideTable {
	now := written.Add(5 * time.Minute)
	pods := wideTable{name: "get pods", listing: podListing(longPods(), now), always: []string{"POD", "READY", "STATE"}}
	described := wideTable{name: "describe", listing: podListing(longPods()[:1], now), section: true, always: pods.always}
	events := wideTable{name: "events", listing: eventListing(longEvents()), always: []string{"TYPE", "OBJECT", "WHAT"}}
	events.listing.narrow.brief = agesOf(longEvents(), now)
	return []wideTable{
		{name: "get", listing: objectListing(longObjects(), now), always: []string{"OBJECT", "READY", "STATE"}},
		pods, described, events,
		{name: "nodes", listing: nodeListing(longNodes()), always: []string{"NODE", "STATE"}},
	}
}

func longObjects() []api.Object {
	status, _ := json.Marshal(api.WorkloadStatus{
		Replicas: 3, Ready: 2, Updated: 1, Release: "v128",
		Conditions: []api.Condition{{Type: api.ConditionDegraded, Status: api.ConditionTrue, Reason: "RegistryUnreachable"}},
	})
	meta := api.Metadata{CreatedAt: written, Generation: 7}
	return []api.Object{
		{Kind: api.KindDeployment, Scope: "prod", Name: "web", Metadata: meta, Status: status},
		{Kind: api.KindDeployment, Scope: "production-eu", Name: "checkout-session-worker", Metadata: meta, Status: status},
	}
}

func longPods() []api.Pod {
	short := podAt("1a2b3c4d", written, api.TaskRunning)
	short.Node, short.Incarnations = "n1", 1
	short.Ports = []api.PortBinding{{Container: 8080, HostIP: "127.0.0.1", HostPort: 18080}}
	code := 137
	long := podAt("1a2b3c4d", written, api.TaskRejected)
	long.Name, long.Node, long.Incarnations = "production-eu-checkout-worker.5e6f7a8b", "worker-eu-central-1b", 12
	long.Reason, long.ExitCode = "CommandNotExecutable", &code
	return []api.Pod{short, long}
}

func longEvents() []api.Event {
	data, _ := json.Marshal(api.EventData{
		Kind: api.KindDeployment, Verb: "apply", Manager: "continuous-delivery",
		Changes: []api.EventChange{
			{Path: "spec.image", Old: json.RawMessage(`"registry.example/web:1.2.3"`), New: json.RawMessage(`"registry.example/web:1.2.4"`)},
		},
	})
	return []api.Event{
		{Type: "deployment.updated", Subject: "prod/web", Time: written, Data: data},
		{Type: "deployment.status_updated", Subject: "production-eu/checkout-worker", Time: written, Data: data},
	}
}

func longNodes() []api.NodeInfo {
	nodes := []api.NodeInfo{{Alive: true, Pods: 3}, {Alive: true, Pods: 117}}
	nodes[0].ID, nodes[0].Ready, nodes[0].Runtime, nodes[0].RuntimeVersion = "n1", true, "docker", "29.1.0"
	nodes[0].CPUs, nodes[0].MemoryBytes = 4, 8<<30
	nodes[0].Role, nodes[0].Address = api.NodeOfServer, netip.MustParseAddr("10.0.0.1")
	nodes[1].Role, nodes[1].Address = api.NodeIngress, netip.MustParseAddr("192.168.177.201")
	nodes[1].ID, nodes[1].Reason, nodes[1].Runtime = "worker-eu-central-1b.internal", "EngineUnavailable", "docker"
	nodes[1].RuntimeVersion, nodes[1].CPUs, nodes[1].MemoryBytes = "29.1.0-ce-rc.2+build.7", 128, 512<<30
	return nodes
}
