package notifytest

import (
	"strings"
	"testing"
)

// File is the page of sinks, from the folder of a package three levels below the module's root.
const File = "../../../docs/use/kinds/sink.md"

// heading is above the table of situations.
const heading = "### What people get a message about\n"

// Page holds the situations that the page of sinks lists.
type Page map[string]row

// row holds the page's answer for a situation.
type row struct {
	message bool
	note    string
}

// PageOf reads the table of situations from the text of File, which it takes with the error of reading it.
func PageOf(t testing.TB, text []byte, err error) Page {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), heading)
	_, table, _ := strings.Cut(rest, "| --- |")
	table, _, _ = strings.Cut(table, "\n\n")
	out := Page{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue // the end of the head
		}
		situation, answer := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		if _, twice := out[situation]; twice || !strings.HasPrefix(answer, "yes") && answer != "no" {
			t.Fatalf("sink.md: %q is there twice, or its answer is neither yes nor no", situation)
		}
		out[situation] = row{message: answer != "no", note: cells[3]}
	}
	if len(out) < 12 {
		t.Fatalf("sink.md lists %d situations under %q", len(out), heading)
	}
	return out
}

// Check fails the test unless the page has the situation, says that people get a message if there is one, and names the
// reason in the message's subject.
func (p Page) Check(t testing.TB, situation, subject string) {
	t.Helper()
	said, ok := p[situation]
	switch {
	case !ok:
		t.Errorf("sink.md has no row %q", situation)
	case said.message != (subject != ""):
		t.Errorf("%s: people are sent %q, and sink.md says otherwise", situation, subject)
	case strings.Contains(subject, " failed: "):
		if _, reason, _ := strings.Cut(subject, " failed: "); !strings.Contains(said.note, "`"+reason+"`") {
			t.Errorf("%s: people are sent %q, and sink.md names another reason: %s", situation, subject, said.note)
		}
	}
}
