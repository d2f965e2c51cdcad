package controltest

import (
	"encoding/json"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/outcome"
)

// Outcome checks what an apply of one object prints, by the status that its controller wrote.
func Outcome(t testing.TB, object api.Object, status any, want api.OutcomeState) {
	t.Helper()
	var err error
	if object.Status, err = json.Marshal(status); err != nil {
		t.Fatal(err)
	}
	wait := api.Awaited{Ref: object.Ref(), Revision: object.Metadata.Revision}
	seen := outcome.Observed{Found: true, Object: object}
	got, err := outcome.Judge([]api.Awaited{wait}, func(api.Ref) outcome.Observed { return seen })
	if err != nil {
		t.Fatal(err)
	}
	if got[0].State != want {
		t.Errorf("an apply prints %s (%s: %s), want %s", got[0].State, got[0].Reason, got[0].Message, want)
	}
}
