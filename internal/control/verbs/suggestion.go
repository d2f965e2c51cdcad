package verbs

import (
	"context"
	"iter"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
)

// Suggestion returns the address of the object that was probably meant where an error says that there is none, of what
// the person may know of; empty if none is near. A command takes it as it is.
func Suggestion(ctx context.Context, snap records.Snapshot, refused *Error) string {
	if refused.Wanted == (Target{}) {
		return ""
	}
	return suggest.Address(refused.Wanted.Ref(), seen(snap, RightsOf(ctx)))
}

// meant asks behind a message whether the nearest of the known names was meant; empty if none is near.
func meant(name string, known []string) string {
	if question := suggest.Question(name, known); question != "" {
		return "; " + question
	}
	return ""
}

// seen returns the objects that someone with rights may know of.
func seen(snap records.Snapshot, rights source.Rights) iter.Seq[api.Ref] {
	return func(yield func(api.Ref) bool) {
		for ref := range snap.Refs("") {
			if rights.Sees(ref.Scope) && !yield(ref) {
				return
			}
		}
	}
}
