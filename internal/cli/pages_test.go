package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// runnable are the commands of the migration pages that need neither the other system nor pods that are ready. The
// others are only read: the command is there, and takes the flags and arguments.
var runnable = []string{"apply", "config import", "config set", "delete", "describe", "diff", "get",
	"ingress maintenance", "ingress resume", "restart", "scale"}

var (
	// inText finds a command in a sentence or a table.
	inText = regexp.MustCompile("`(tend [^`]+)`")
	// between finds where one command of a line of a shell ends.
	between = regexp.MustCompile(`\s+#.*|&&|[|;]`)
	// blanks are words that a reader replaces.
	blanks = regexp.MustCompile(`\b(SCOPE|NAME|REF|CMD|KEY|FILE)\b`)
)

// commandsOn returns the command lines of Tend on a page, in order, and its manifests.
func commandsOn(page string) (lines, manifests []string) {
	block, text := "", ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch language, fence := strings.CutPrefix(line, "```"); {
		case fence && block == "hcl":
			manifests, block, text = append(manifests, text), "", ""
		case fence && block != "":
			block = ""
		case fence:
			block = language
		case block == "hcl":
			text += line + "\n"
		case block == "sh":
			for _, part := range between.Split(line, -1) {
				if part = strings.TrimSpace(part); strings.HasPrefix(part, "tend ") {
					lines = append(lines, strings.TrimPrefix(part, "tend "))
				}
			}
		case block == "":
			for _, found := range inText.FindAllStringSubmatch(line, -1) {
				lines = append(lines, strings.TrimPrefix(found[1], "tend "))
			}
		}
	}
	return lines, manifests
}

// readLine returns the command of a command line and what stands behind it. The error says what the command doesn't
// take.
func readLine(line string) (command *cobra.Command, rest []string, err error) {
	root := newRoot(streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	command, rest, err = root.Find(withPlugins(root, inOurWords(strings.Fields(line))))
	switch {
	case err != nil || command == root || command.Name() == callPlugin:
		return nil, nil, errors.Join(err, errors.New("no such command"))
	case len(rest) == 0:
		return command, nil, nil // what is named in a sentence needs no arguments
	}
	if err := command.ParseFlags(rest); err != nil {
		return nil, nil, err
	}
	return command, rest, command.ValidateArgs(command.Flags().Args())
}

// follow reads a command line of a page, and runs it if it can be run here. The text stdin is piped into it.
func (m *machine) follow(t *testing.T, line, stdin string) (ran bool) {
	command, rest, err := readLine(line)
	if err != nil {
		t.Errorf("tend %s: %v", line, err)
		return false
	}
	path := strings.TrimPrefix(command.CommandPath(), "tend ")
	named := len(rest) == 0 && path != "apply" && path != "diff"
	if named || !slices.Contains(runnable, path) || blanks.MatchString(line) {
		return false
	}
	if command.Flags().Lookup("no-wait") != nil && path != "delete" { // what is being deleted can't be applied
		line += " --no-wait"
	}
	line = strings.ReplaceAll(line, "unix://$PWD/.tend/tend.sock", m.url())
	if code, out, said := m.runWith(stdin, line); code != 0 {
		t.Errorf("tend %s ends with %d\n%s%s", line, code, out, said)
	}
	return true
}

// TestMigrationPages follows the pages about moving from another system: the server plans every manifest, and each
// command of Tend is run, or read where it needs that system.
func TestMigrationPages(t *testing.T) {
	web := "deployment \"SCOPE\" \"web\" {\n  image = \"web:1\"\n}\n"
	for name, tc := range map[string]struct {
		reason          string
		files           map[string]string
		commands, runs  int // how many there are at least
		manifest, typed string
		manifests       int
		images          []string
	}{
		"compose": {reason: "adopt compose wrote the manifest", commands: 15, runs: 6,
			files: map[string]string{".tend/shop.hcl": strings.ReplaceAll(web, "SCOPE", "shop")}},
		"kamal": {reason: "the page has the manifest", commands: 10, runs: 7, manifests: 1, manifest: ".tend/shop.hcl",
			typed: "RAILS_MASTER_KEY=x\nPOSTGRES_PASSWORD=y\n", images: []string{"postgres:17", "ghcr.io/example/shop:latest"}},
		"voodu": {reason: "its manifests stay", commands: 12, runs: 6, manifests: 1,
			files: map[string]string{".voodu/web.hcl": strings.ReplaceAll(web, "SCOPE", "prod"), "web.env": "A=1\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile("../../docs/use/migrate-from-" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			m, err := newMachine()
			if err != nil {
				t.Fatal(err)
			}
			defer m.close()
			for _, image := range append(tc.images, "web:1") {
				m.engine.AddImage(image)
			}
			if err := m.start(); err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			t.Setenv("REGISTRY_TOKEN", "x")
			lines, manifests := commandsOn(string(page))
			if len(lines) < tc.commands || len(manifests) != tc.manifests {
				t.Errorf("the page has %d commands and %d manifests", len(lines), len(manifests))
			}
			for _, text := range manifests {
				write(t, "page.hcl", text)
				if code, out, said := m.run("diff -f page.hcl"); code != 0 || !strings.Contains(out, "create") {
					t.Errorf("a manifest ends with %d:\n%s\n%s%s", code, text, out, said)
				}
			}
			if tc.manifest != "" {
				write(t, tc.manifest, manifests[0])
			}
			for name, text := range tc.files {
				write(t, name, text)
			}
			ran := 0
			for _, line := range lines {
				if m.follow(t, line, tc.typed) {
					ran++
				}
			}
			if ran < tc.runs {
				t.Errorf("%d of the commands ran", ran)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
