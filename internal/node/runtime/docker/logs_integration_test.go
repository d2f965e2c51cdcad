//go:build integration

package docker_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestFollowedLogsReachTheEnd: an engine that rotates a log faster than it is followed loses its position (it may
// repeat a part, and omit some of the last lines from the stream). The reader still returns everything that the log
// holds in the end.
func TestFollowedLogsReachTheEnd(t *testing.T) {
	c := newCluster(t)
	run := c.start(api.DeploymentSpec{Container: api.Container{Logs: &api.Logs{MaxSize: "1m", MaxFiles: new(3)}}},
		"print", "100000")
	lines := func(opts runtime.LogOptions) []string {
		logs, err := c.Logs(t.Context(), run.ID, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer logs.Close()
		var texts []string
		for {
			line, err := logs.Next()
			if errors.Is(err, io.EOF) {
				return texts
			}
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, line.Text)
		}
	}
	followed := lines(runtime.LogOptions{Follow: true, Tail: -1})
	held := lines(runtime.LogOptions{Tail: 10})
	if len(held) != 10 {
		t.Fatalf("the log holds %q", held)
	}
	for _, line := range held {
		if !slices.Contains(followed, line) {
			t.Errorf("%d lines came, %q, which the log holds, is not among them", len(followed), line)
		}
	}
}
