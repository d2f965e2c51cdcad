package membership_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/internal/core/membership"
)

var rewrite = flag.Bool("rewrite", false, "write the table into docs/operate/cluster.md")

// TestEveryCellHasItsRule: whatever is done about a server, in whatever state, is decided; a refusal says why, and what
// to do instead.
func TestEveryCellHasItsRule(t *testing.T) {
	if len(membership.Table) != len(membership.Commands) {
		t.Errorf("%d commands have rules, of %d", len(membership.Table), len(membership.Commands))
	}
	for _, command := range membership.Commands {
		for _, state := range membership.States {
			rule, decided := membership.Table[command][state]
			if !decided || rule.Effect == "" {
				t.Errorf("%s of a server that is %s: no rule", command, state)
			}
			about := membership.Subject{Server: "b", Address: "https://b:1",
				Holder: membership.Server{Name: "c", Address: "https://c:1"}, Root: "/r"}
			effect, refused := membership.Decide(command, state, about)
			if effect != rule.Effect || (refused != nil) != (rule.Effect == membership.Refused) {
				t.Errorf("%s of a server that is %s: %s, %v", command, state, effect, refused)
			}
			if refused != nil && (refused.Why == "" || refused.Next == "" ||
				strings.ContainsAny(refused.Error(), "{}") || rule.Named == "") {
				t.Errorf("%s of a server that is %s: %+v", command, state, refused)
			}
		}
	}
}

// TestNextStepsAreNotRefused: a refusal names no removal of a server that the table refuses in the same state.
func TestNextStepsAreNotRefused(t *testing.T) {
	for _, command := range membership.Commands {
		for _, state := range membership.States {
			_, refused := membership.Decide(command, state, membership.Subject{Server: "b", Holder: membership.Server{Name: "b"}})
			if refused == nil || !strings.Contains(refused.Next, "tend servers remove b") {
				continue
			}
			_, in := membership.Decide(membership.Remove, state, membership.Subject{Server: "b"})
			if in != nil && !strings.Contains(refused.Next, "join one first if it is the only one") &&
				!strings.Contains(refused.Next, "If there is no other server: ") {
				t.Errorf("%s of a server that is %s: %s; but: %s", command, state, refused.Next, in.Why)
			}
		}
	}
}

// TestAServerThatMayBeLostHasNoVote: no command gives a vote to a server without its store, and the one that votes last
// stays.
func TestAServerThatMayBeLostHasNoVote(t *testing.T) {
	for _, state := range []membership.State{membership.Joining, membership.Voting, membership.Only} {
		for _, command := range []membership.Command{membership.Join, membership.StartWiped} {
			if effect, _ := membership.Decide(command, state, membership.Subject{}); effect != membership.Refused {
				t.Errorf("%s of a server that is %s: %s", command, state, effect)
			}
		}
	}
	for _, command := range membership.Commands {
		if effect, _ := membership.Decide(command, membership.Only, membership.Subject{}); effect == membership.Leaves {
			t.Errorf("%s takes the only server out", command)
		}
	}
}

// table returns the rules as the documentation has them.
func table() string {
	var out strings.Builder
	out.WriteString("| a server that is … |")
	for _, state := range membership.States {
		out.WriteString(" " + string(state) + " |")
	}
	out.WriteString("\n| --- |" + strings.Repeat(" --- |", len(membership.States)) + "\n")
	var refusals []membership.Rule
	for _, command := range membership.Commands {
		out.WriteString("| " + string(command) + " |")
		for _, state := range membership.States {
			rule := membership.Table[command][state]
			cell := string(rule.Effect)
			if rule.Effect == membership.Refused {
				cell += ": " + rule.Named
				if !slices.Contains(refusals, rule) {
					refusals = append(refusals, rule)
				}
			}
			out.WriteString(" " + cell + " |")
		}
		out.WriteString("\n")
	}
	out.WriteString("\n| refused: | what it says | what to do |\n| --- | --- | --- |\n")
	fill := strings.NewReplacer("{server}", "NAME", "{holder}", "OTHER", "{address}", "ADDRESS", "{at}",
		"ADDRESS", "{root}", "ROOT")
	for _, rule := range refusals {
		out.WriteString("| " + rule.Named + " | " + fill.Replace(rule.Why) + " | " + fill.Replace(rule.Next) + " |\n")
	}
	return out.String()
}

// TestTheDocumentationHasTheTable: docs/operate/cluster.md has the table that is decided by.
func TestTheDocumentationHasTheTable(t *testing.T) {
	const path, begin, end = "../../../docs/operate/cluster.md",
		"<!-- servers: state and command -->\n\n", "\n<!-- end -->"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	documented, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(before+begin+table()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table(), documented); diff != "" {
		t.Errorf("docs/operate/cluster.md differs from what is decided; -rewrite writes it:\n%s", diff)
	}
}
