package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/core/suggest"
)

// familiar returns what Tend has instead of a word of another tool; empty if it isn't one. Such a word is answered,
// never executed by guess.
func familiar(word string) string {
	for _, f := range suggest.ForeignWords {
		if word = strings.ToLower(word); slices.Contains(f.Verbs, word) || slices.Contains(f.Nouns, word) {
			return fmt.Sprintf("tend has no `%s`: %s", word, f.Command)
		}
	}
	return ""
}

// familiarNoun is familiar for a word in the place of a kind or a name.
func familiarNoun(word string) string {
	for _, f := range suggest.ForeignWords {
		if slices.Contains(f.Nouns, strings.ToLower(word)) {
			return familiar(word)
		}
	}
	return ""
}

// familiarKind says of the kinds that a command line names by a word of another tool which ones they are here: a note,
// but for a deletion, which wants the word that is meant.
func (a *app) familiarKind(command *cobra.Command, args []string) error {
	for i, arg := range args {
		word, path, whole := strings.Cut(arg, "/")
		kind, err := parseKind(word)
		names := i+1 < len(args) || whole && strings.Contains(path, "/") || command.Name() == "get"
		switch {
		case !slices.Contains([]string{"get", "describe", "delete"}, command.Name()) || !names:
		case err != nil || familiarNoun(word) == "" || word == string(kind) || word == kind.Plural():
		case command.Name() == "delete":
			return fmt.Errorf("%s\n  to delete one, call it %s", familiar(word), kind)
		default:
			fmt.Fprintf(a.err, "note: %s; these are %s\n", familiar(word), kind.Plural())
			return nil
		}
	}
	return nil
}
