package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// TestSinksSayHowOldTheirLastErrorIs: an error of an hour ago is not one of now.
func TestSinksSayHowOldTheirLastErrorIs(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	status, err := json.Marshal(api.SinkStatus{Type: api.SinkTypeMail, Progress: &api.SinkProgress{
		LastError: "the receiver answered 503", LastErrorAt: now.Add(-2 * time.Hour),
		Refusals: []api.SinkRefusal{{Address: "ops@example.org", Lost: 3, Error: "550 no such address",
			At: now.Add(-3 * time.Hour)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	object := api.Object{Kind: api.KindSink, Scope: api.Unscoped, Name: "in", Status: status}
	cells, _ := sinkTable.row(object, now)
	if got := cells[len(cells)-1]; got != "2h ago: the receiver answered 503" {
		t.Errorf("the last error is %q", got)
	}
	var described strings.Builder
	describeSink(plain{&described}, object, now)
	for _, want := range []string{"last error 2h ago: the receiver answered 503",
		"refused ops@example.org: 3 messages lost since 3h ago: 550 no such address"} {
		if !strings.Contains(described.String(), want) {
			t.Errorf("%q is not in %q", want, described.String())
		}
	}
}
