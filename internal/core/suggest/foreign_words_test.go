package suggest_test

import (
	"slices"
	"testing"

	"tend.dev/tend/internal/core/suggest"
)

// TestForeignWords: a word stands in the table once, and where it is looked up there is an answer.
func TestForeignWords(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range suggest.ForeignWords {
		for _, word := range slices.Concat(f.Verbs, f.Nouns, f.Kinds) {
			if seen[word] {
				t.Errorf("%q stands there twice", word)
			}
			seen[word] = true
		}
		if len(f.Verbs)+len(f.Nouns) > 0 && f.Command == "" || len(f.Kinds) > 0 && f.Manifest == "" {
			t.Errorf("%v has no answer", f)
		}
	}
}

// TestForeignKinds: a manifest answers the short words that command lines are answered for too.
func TestForeignKinds(t *testing.T) {
	for _, word := range []string{"svc", "ns", "namespaces", "ds", "rs", "cm", "pv", "sa", "HPA", "config-map",
		"Storage_Class", "cron", "pods", "users", "endpoints"} {
		if suggest.ForeignKind(word) == "" {
			t.Errorf("%s has no answer", word)
		}
	}
	if got := suggest.ForeignKind("images"); got != "" {
		t.Errorf("images: %s", got)
	}
}
