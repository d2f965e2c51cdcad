//go:build integration

package docker_test

import (
	"errors"
	"io"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/runtime"
)

// TestFollowedLogsReachTheEnd: an engine that rotates a log faster than it is followed loses its place in it (and may
// repeat a part of it); what the log still holds beyond that comes nevertheless.
func TestFollowedLogsReachTheEnd(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Container: api.Container{Logs: &api.Logs{MaxSize: "1m", MaxFiles: new(3)}}}, "print", "100000")
	logs, err := c.Logs(t.Context(), run.ID, runtime.LogOptions{Follow: true, Tail: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	seen := map[string]bool{}
	for {
		line, err := logs.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		seen[line.Text] = true
	}
	if !seen["line 99999"] || !seen["line 100000"] {
		t.Errorf("%d lines came, the last two are not among them", len(seen))
	}
}
