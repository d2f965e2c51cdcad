package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandsOfThePredecessor: commands with the same meaning here are rewritten, and nothing else.
func TestCommandsOfThePredecessor(t *testing.T) {
	for typed, want := range map[string]string{
		"config prod/web set A=1 B=2":         "config set prod/web A=1 B=2",
		"config:set prod/web A=1":             "config set prod/web A=1",
		"config prod/web":                     "config list prod/web",
		"config set prod/web get=1":           "config set prod/web get=1",
		"config set get A=1":                  "config set get A=1",
		"config --help":                       "config --help",
		"run prod/web -- rails db:migrate -y": "exec prod/web -- rails db:migrate -y",
		"run prod/job":                        "run prod/job",
		"apply -f x.hcl -y":                   "apply -f x.hcl",
		"apply --auto-approve":                "apply",
		"delete prod/web -y":                  "delete prod/web -y",
		"delete prod/web --auto-approve":      "delete prod/web --yes",
		"rebootstrap prod/db 1 -y":            "rebootstrap prod/db 1 -y",
		"plugins update --all":                "plugins update",
		"plugins:install acme/tend-redis":     "plugins install acme/tend-redis",
		"redis:link prod/cache prod/web":      "redis:link prod/cache prod/web",
		"exec prod/web -- apply -y":           "exec prod/web -- apply -y",
		"-o json config prod/web set A=1":     "-o json config prod/web set A=1",
		"":                                    "",
	} {
		if got := strings.Join(inOurWords(strings.Fields(typed)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", typed, got, want)
		}
	}
}

// TestHintsForThePredecessorsWords: a command with another name here is refused, and the error has that name.
func TestHintsForThePredecessorsWords(t *testing.T) {
	for typed, want := range map[string]string{
		"apply -r prod -f x.hcl": "--server ssh://user@host",
		"get pods --remote prod": "TEND_SERVER",
		"remote add prod host":   "--server ssh://user@host",
		"remote setup prod":      "docs/operate/installing.md",
		"get pods --show-env":    "tend config get SCOPE/NAME KEY",
		"logs -s prod":           "tend get -s SCOPE",
		"stats -s prod":          "tend stats SCOPE/NAME",
	} {
		root := newRoot(streams{in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}})
		root.SetArgs(withPlugins(root, inOurWords(strings.Fields(typed))))
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q says %v, want %q", typed, err, want)
		}
	}
	if hint := flagHint(&cobra.Command{Use: "apply"}, errors.New("unknown flag: --nonsense")); hint != "" {
		t.Errorf("a hint for nothing: %s", hint)
	}
}
