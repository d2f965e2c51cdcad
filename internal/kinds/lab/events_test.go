package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// events returns the types of all events in order, each with the phase that it speaks of.
func (l *harness) events() (out []string) {
	l.Helper()
	page, err := l.Store.List(context.Background(), records.EventsPrefix, store.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	slices.SortFunc(page.Entries, func(a, b store.Entry) int { return cmp.Compare(a.Modified, b.Modified) })
	for _, stored := range page.Entries {
		var entry struct {
			Events []struct {
				Type string        `json:"type"`
				Data api.EventData `json:"data"`
			} `json:"events"`
		}
		if err := json.Unmarshal(stored.Value, &entry); err != nil {
			l.Fatal(err)
		}
		for _, e := range entry.Events {
			out = append(out, strings.TrimSpace(strings.TrimPrefix(e.Type, "labinstancerequest.")+" "+e.Data.Phase))
		}
	}
	return slices.Compact(out)
}

// TestTheEventsOfALab: the flow of the document, from its creation to its end: a change of the status for each move,
// and that the reconcile is done once it runs and once it is over.
func TestTheEventsOfALab(t *testing.T) {
	inHarness(t, func(l *harness) {
		l.Stop()
		recorded := eventlog.Record(l.Store, func() *view.Snapshot { return l.View.Snapshot() }, time.Now)
		l.recorded = recorded
		l.Serve()
		raw, _ := json.Marshal(labOf(time.Hour, time.Hour)) // texts alone
		object := api.Object{Kind: linux.Kind, Scope: linux.Scope, Name: linux.Name, Spec: raw,
			Metadata: api.Metadata{UID: "u", Generation: 1}}
		if _, err := records.NewTxn("apply").Put(records.ObjectKey(linux), object).Commit(context.Background(),
			recorded); err != nil {
			t.Fatal(err)
		}
		l.Pass(3 * time.Hour)
		l.phase(linux, api.LabTimeout, "")
		want := []string{
			"created", "status_updated PENDING", "status_updated PROVISIONING", "status_updated RUNNING",
			"reconciled RUNNING",
			"status_updated TIMEOUT", "reconciled TIMEOUT", "status_updated TIMEOUT",
		}
		if got := l.events(); !slices.Equal(got, want) {
			t.Errorf("the events are %q, want %q", got, want)
		}
	})
}
