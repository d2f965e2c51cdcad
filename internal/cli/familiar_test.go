package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/core/suggest"
)

// TestFamiliarWords: no word of the table is a command or stands there twice, and each answer names commands and flags
// that there are.
func TestFamiliarWords(t *testing.T) {
	root := newRoot(streams{out: io.Discard, err: io.Discard})
	quoted := regexp.MustCompile("`tend ([^`]+)`")
	seen := map[string]bool{}
	for _, f := range suggest.ForeignWords {
		for _, word := range slices.Concat(f.Verbs, f.Nouns) {
			if seen[word] || isCommand(root, word) {
				t.Errorf("%q is a command, or stands in the table twice", word)
			}
			seen[word] = true
		}
		for _, line := range quoted.FindAllStringSubmatch(f.Command, -1) {
			checkLine(t, root, line[1])
		}
	}
	for _, h := range hintsOfFlags {
		for _, line := range quoted.FindAllStringSubmatch(h.hint, -1) {
			checkLine(t, root, line[1])
		}
	}
}

// checkLine checks that a command line names a command with its flags.
func checkLine(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	words := strings.Fields(line)
	if words[0] == "--help" || words[0] == "COMMAND" {
		return
	}
	command, rest, err := root.Find(words)
	if err != nil || command == root || command.Hidden {
		t.Errorf("tend %s: there is no such command", line)
		return
	}
	for _, word := range rest {
		switch name, long := strings.CutPrefix(word, "--"); {
		case word == "--":
			return
		case long && command.Flags().Lookup(name) == nil && root.PersistentFlags().Lookup(name) == nil,
			!long && len(word) == 2 && word[0] == '-' && command.Flags().ShorthandLookup(word[1:]) == nil &&
				root.PersistentFlags().ShorthandLookup(word[1:]) == nil:
			t.Errorf("tend %s: there is no flag %s", line, word)
		}
	}
}
