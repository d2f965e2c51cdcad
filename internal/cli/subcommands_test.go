package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestMistypedSubcommands: a word that isn't a command of a group causes an error, and not a help text that a script
// takes for success.
func TestMistypedSubcommands(t *testing.T) {
	var walk func(path []string, command *cobra.Command)
	walk = func(path []string, command *cobra.Command) {
		for _, below := range command.Commands() {
			if below.IsAvailableCommand() && below.HasAvailableSubCommands() && below.Name() != "completion" {
				own := append(slices.Clone(path), below.Name())
				walk(own, below)
				if strings.Contains(below.Use, " ") {
					continue // it takes a name itself
				}
				root := newRoot(streams{in: strings.NewReader(""), out: &strings.Builder{}, err: &strings.Builder{}})
				root.SetArgs(append(slices.Clone(own), "xyzzy"))
				if err := root.Execute(); err == nil || !strings.Contains(err.Error(), `"xyzzy"`) {
					t.Errorf("tend %s xyzzy: %v", strings.Join(own, " "), err)
				}
			}
		}
	}
	walk(nil, newRoot(streams{}))
}

func TestTheRelayCanBeOff(t *testing.T) {
	for address, good := range map[string]bool{"off": true, ":8690": true, "": true, "on": false, ":x": false} {
		if err := checkListenOrOff("relay-listen", address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}
