package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/change"
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
		"Long": {"a long word stays whole, for the terminal", "see http://host/path now", 12,
			"see\n    http://host/path\n    now"},
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
			if rows := strings.Count(strings.TrimPrefix(text, "\n"+table.title()), "\n"); width >= 80 &&
				rows != 1+len(table.listing.rows) {
				t.Errorf("%s at %d columns wraps rows: it has %d lines for %d rows", table.name, width, rows,
					len(table.listing.rows))
			}
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

// TestWidthAloneChoosesColumns: what happened has the same columns whatever its cells hold, and always says when.
func TestWidthAloneChoosesColumns(t *testing.T) {
	now := written.Add(5 * time.Minute)
	short := longEvents()[:3]
	for i := range short {
		d := eventData(short[i])
		d.Name, d.Manager, d.Actor, d.Changes, d.Reason, d.Message = "a", "apply", "", nil, "", ""
		short[i].Data, _ = json.Marshal(d)
		short[i].Subject = "b/a"
	}
	for name, list := range map[string]func([]api.Event) listing{
		"history":  func(events []api.Event) listing { return historyListing(change.History(events), now) },
		"events":   func(events []api.Event) listing { return eventListing(events, now) },
		"audit":    func(events []api.Event) listing { return auditListing(events, now) },
		"describe": func(events []api.Event) listing { return briefEvents(events, now) },
	} {
		for width := 40; width <= 200; width++ {
			var titles [2][]string
			for i, events := range [][]api.Event{longEvents()[:3], short} {
				l := list(events)
				for _, c := range l.narrow.fit(l.columns(false), width) {
					titles[i] = append(titles[i], c.title)
				}
			}
			if diff := cmp.Diff(titles[0], titles[1]); diff != "" {
				t.Errorf("%s at %d columns depends on its cells:\n%s", name, width, diff)
			}
			if first := titles[0][0]; first != "AGE" && first != "TIME" {
				t.Errorf("%s at %d columns begins with %s", name, width, first)
			}
		}
	}
}

// TestHistoryNamesTheReleaseOfARollback: beside what changed, and before it.
func TestHistoryNamesTheReleaseOfARollback(t *testing.T) {
	old := api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web", Spec: json.RawMessage(`{"image":"web:2"}`)}
	next := old
	next.Spec = json.RawMessage(`{"image":"web:1"}`)
	next.Metadata.Generation = 3
	next.Metadata.Stamps = map[string]string{api.StampRollback: "v1", api.StampRollbackConfig: "kept"}
	var events []api.Event
	for _, e := range change.Object(&old, &next) {
		e.Data.Verb = "rollback"
		raw, _ := json.Marshal(e.Data)
		events = append(events, api.Event{Type: api.EventType(e.Data.Kind, e.Action), Data: raw})
	}
	for name, l := range map[string]listing{
		"history": historyListing(change.History(events), written), "events": eventListing(events, written),
	} {
		if text := strings.Join(l.rows[0], " "); !strings.Contains(text, "rollback to v1, image web:2 → web:1") {
			t.Errorf("%s: %s", name, text)
		}
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
	section string
	always  []string
}

func (w wideTable) title() string {
	if w.section == "" {
		return ""
	}
	return w.section + "\n"
}

func (w wideTable) at(t *testing.T, width int) string {
	t.Helper()
	var out strings.Builder
	s := streams{out: &out, columns: width}
	var err error
	if w.section != "" {
		err = (&app{streams: s}).section(w.section, w.listing)
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
	described := wideTable{name: "describe, pods", listing: podListing(longPods()[:2], now),
		section: "Pods", always: pods.always}
	events := wideTable{name: "events", listing: eventListing(longEvents(), now), always: []string{"OBJECT", "WHAT"}}
	own := wideTable{name: "events of one object", listing: eventListing(longEvents()[:3], now), always: []string{"WHAT"}}
	history := wideTable{name: "history", listing: historyListing(change.History(longEvents()[:3]), now),
		always: []string{"CHANGE", "OUTCOME"}}
	return []wideTable{
		{name: "get", listing: objectListing(longObjects(), now), always: []string{"NAME", "READY", "STATE"}},
		{name: "get ingresses", listing: objectListing(longIngresses(), now), always: []string{"NAME", "STATE"}},
		{name: "get cronjobs", listing: objectListing(longCronJobs(), now), always: []string{"NAME", "STATE"}},
		pods, described, events, own,
		{name: "describe, events", listing: briefEvents(longEvents()[:3], now), section: "Events", always: []string{"WHAT"}},
		history,
		{name: "releases", listing: releaseListing(longReleases(), now), always: []string{"RELEASE", "STATE", "CHANGED"}},
		{name: "releases, application instance", listing: releaseListing(longVersions(), now),
			always: []string{"RELEASE", "STATE", "CHANGED"}},
		{name: "describe, releases", listing: briefReleases(releaseListing(longReleases(), now)), section: "Releases",
			always: []string{"RELEASE", "STATE"}},
		{name: "nodes", listing: nodeListing(longNodes()), always: []string{"NODE", "STATE"}},
		{name: "servers", listing: serverListing(longServers(), now), always: []string{"SERVER", "STATE", "VOTE"}},
	}
}
