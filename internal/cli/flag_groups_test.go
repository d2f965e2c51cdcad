package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFlagsAreGrouped: each flag of a server and an agent is in one group, and what one server needs comes first.
func TestFlagsAreGrouped(t *testing.T) {
	grouped := map[string]int{}
	for _, g := range machineGroups {
		for _, name := range g.flags {
			grouped[name]++
		}
	}
	found := map[string]bool{}
	root := newRoot(streams{})
	for _, name := range []string{"server", "dev", "agent"} {
		command, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		command.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if found[f.Name] = true; grouped[f.Name] != 1 && f.Name != "help" {
				t.Errorf("%s --%s is in %d groups", name, f.Name, grouped[f.Name])
			}
		})
		help := helpOfFlags(command)
		first, _, _ := strings.Cut(help, "\n\n")
		if n := strings.Count(first, "\n"); n > len(machineGroups[0].flags) ||
			!strings.HasPrefix(first, machineGroups[0].title) {
			t.Errorf("the help of %s begins with %d lines:\n%s", name, n, first)
		}
	}
	for name := range grouped {
		if !found[name] {
			t.Errorf("no command has --%s", name)
		}
	}
}

// TestHelpShowsFlags: each command's help has its flags, in groups or not.
func TestHelpShowsFlags(t *testing.T) {
	for args, want := range map[string][]string{
		"dev --help":   {"One server:\n", "--runtime RUNTIME", "Several machines:\n", "Global Flags:"},
		"scale --help": {"\nFlags:\n", "--no-wait"},
		"--help":       {"\nFlags:\n", "Several machines, labs, Kubernetes:\n"},
	} {
		var out strings.Builder
		root := newRoot(streams{out: &out, err: &out})
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("tend %s lacks %q:\n%s", args, text, out.String())
			}
		}
		if strings.Contains(out.String(), "{{") || strings.Contains(out.String(), "%!") {
			t.Errorf("tend %s shows a template:\n%s", args, out.String())
		}
	}
}
