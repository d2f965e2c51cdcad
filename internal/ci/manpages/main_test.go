package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tend.dev/tend/internal/cli"
)

// TestEveryCommandHasAPage: each command that help lists has a page with its summary and all its flags, and there is no
// page of anything else.
func TestEveryCommandHasAPage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	t.Setenv("TEND_ROOT", "/nosuch") // write sets it
	folder := filepath.Join(t.TempDir(), "man")
	if err := write(folder, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	visit(cli.Command(), func(command *cobra.Command) {
		name := strings.ReplaceAll(command.CommandPath(), " ", "-")
		pages[name+".1"] = true
		text, err := os.ReadFile(filepath.Join(folder, name+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		for _, fault := range faults(string(text), name, command) {
			t.Errorf("%s.1: %s", name, fault)
		}
	})
	entries, err := os.ReadDir(folder)
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, entry := range entries {
		if !pages[entry.Name()] {
			t.Errorf("%s is of no command", entry.Name())
		}
	}
}

func visit(command *cobra.Command, do func(*cobra.Command)) {
	do(command)
	for _, child := range command.Commands() {
		if child.IsAvailableCommand() {
			visit(child, do)
		}
	}
}

// macro is a request of the man macros, as a line begins with it.
var macro = regexp.MustCompile(`(?m)^\.[^\n ]*`)

// known are the requests in cobra's pages: any other means that text was taken for markup.
var known = map[string]bool{".nh": true, ".TH": true, ".SH": true, ".SS": true, ".PP": true, ".EX": true, ".EE": true,
	".IP": true, ".RS": true, ".RE": true}

// faults returns the faults of a page.
func faults(text, name string, command *cobra.Command) (out []string) {
	if !strings.HasPrefix(text, ".nh\n.TH \""+strings.ToUpper(name)+"\" \"1\" \"Jan 1970\" \"Tend v1.2.3\" \"Tend\"\n") {
		out = append(out, "its head is "+strings.SplitN(text, "\n", 3)[1])
	}
	for _, section := range []string{".SH NAME\n" + name + " - ", ".SH SYNOPSIS\n\\fB" + command.CommandPath(),
		".SH DESCRIPTION\n", ".SH SEE ALSO\n"} {
		alone := strings.HasPrefix(section, ".SH SEE") && !command.HasParent() && !command.HasSubCommands()
		if !strings.Contains(text, section) && !alone {
			out = append(out, "it lacks "+section)
		}
	}
	for _, request := range macro.FindAllString(text, -1) {
		if !known[request] {
			out = append(out, "it has the request "+request)
		}
	}
	if strings.Count(text, "\n.EX\n") != strings.Count(text, "\n.EE\n") {
		out = append(out, "an example isn't closed")
	}
	command.NonInheritedFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && !strings.Contains(text, `\fB--`+flag.Name+`\fP`) {
			out = append(out, "it lacks --"+flag.Name)
		}
	})
	return out
}
