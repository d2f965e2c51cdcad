package nodeapitest

import (
	"encoding/json"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/store/records"
)

// wildTimes: what a node says of a time beyond its clock's possible error is stored as the present.
func wildTimes(t *testing.T, w *World, c nodeapi.Control) {
	w.Deploy("a", Here)
	for _, at := range []time.Time{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)} {
		status := api.TaskStatus{ID: "a", Node: Here, State: api.TaskRunning, CreatedAt: at, StartedAt: at, RunningAt: at,
			Exits: []time.Time{at}}
		if err := c.Report(t.Context(), node.Report{Tasks: []api.TaskStatus{status}}); err != nil {
			t.Fatal(err)
		}
		entry, err := w.Store.Get(t.Context(), records.TaskStatusKey("a"))
		if err != nil {
			t.Fatal(err)
		}
		var stored api.TaskStatus
		if err := json.Unmarshal(entry.Value, &stored); err != nil {
			t.Fatal(err)
		}
		for _, got := range append(stored.Exits, stored.CreatedAt, stored.StartedAt, stored.RunningAt) {
			if time.Since(got).Abs() > time.Hour {
				t.Errorf("%s was stored as %s", at, got)
			}
		}
	}
}
