package eventlog_test

import (
	"encoding/json"
	"testing"

	ce "github.com/cloudevents/sdk-go/v2/event"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
)

// TestEventsAreCloudEvents reads events of each action with the library of CloudEvents, which validates them.
func TestEventsAreCloudEvents(t *testing.T) {
	w := newWorld(t, backends["memory"])
	lab := api.Ref{Kind: api.KindLab, Scope: "class", Name: "one"}
	for _, ref := range []api.Ref{web, lab} {
		key, statusKey := records.ObjectKey(ref), records.StatusKey(ref)
		w.put(object(ref, 1, `{"image":"web:1"}`))
		w.put(object(ref, 2, `{"image":"web:2"}`))
		for _, is := range []api.Condition{{Type: "Ready", Status: "True"},
			{Type: "Degraded", Status: "True", Reason: "Bad"}} {
			status := map[string]any{"observedGeneration": 2, "conditions": []api.Condition{is}}
			w.commit(w.ctx, records.NewTxn("status").If(statusKey, w.modified(statusKey)).Put(statusKey, status))
		}
		w.commit(w.ctx, records.NewTxn("delete").If(key, w.modified(key)).Delete(key).Delete(statusKey))
	}
	seen := map[string]bool{}
	for _, e := range w.all(eventlog.Position{}) {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var read ce.Event
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if err := read.Validate(); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		var about api.EventData
		if err := read.DataAs(&about); err != nil || about.Name == "" || seen[read.ID()] {
			t.Errorf("%s: %+v, %v", raw, about, err)
		}
		seen[read.ID()], seen[read.Type()] = true, true
	}
	for _, kind := range []string{"deployment", "labinstancerequest"} {
		for _, action := range []string{"created", "updated", "deleted", "status_updated", "reconciled",
			"reconciliation.failed"} {
			if !seen[kind+"."+action] {
				t.Errorf("no event is %s.%s", kind, action)
			}
		}
	}
}
