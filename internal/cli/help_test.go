package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into testdata instead of comparing")

// TestHelp: every command with its arguments, and every flag with its default, matches testdata/help.txt. A flag's
// default is a promise.
func TestHelp(t *testing.T) {
	for _, name := range []string{"HOME", "TEND_ROOT", "TEND_SERVER"} {
		t.Setenv(name, "/nosuch")
	}
	var found bytes.Buffer
	root := newRoot(streams{out: &found, err: &found})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.RemoveCommand(commandAt(root, []string{"toy"})) // the tests' own kind
	describeCommand(&found, root)
	const path = "testdata/help.txt"
	if *rewrite {
		if err := os.WriteFile(path, found.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(found.String(), "\n")); diff != "" {
		t.Errorf("after a change on purpose: go test ./internal/cli -run TestHelp -rewrite\n%s", diff)
	}
}

func describeCommand(to *bytes.Buffer, command *cobra.Command) {
	hidden := ""
	if command.Hidden {
		hidden = " (hidden)"
	}
	fmt.Fprintf(to, "%s%s\n    %s\n", command.UseLine(), hidden, command.Short)
	for _, alias := range command.Aliases {
		fmt.Fprintf(to, "    alias %s\n", alias)
	}
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if command.HasParent() && command.InheritedFlags().Lookup(f.Name) != nil {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		short := ""
		if f.Shorthand != "" {
			short = "-" + f.Shorthand + ", "
		}
		fmt.Fprintf(to, "  %s--%s %s = %q: %s\n", short, f.Name, value, f.DefValue, usage)
	})
	for _, child := range command.Commands() {
		fmt.Fprintln(to)
		describeCommand(to, child)
	}
}

func eachCommand(command *cobra.Command, do func(*cobra.Command)) {
	do(command)
	for _, child := range command.Commands() {
		if !child.DisableFlagParsing {
			eachCommand(child, do)
		}
	}
}
