package client

import (
	"context"
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// LogsOptions select output. Pod names one pod; without it all of Target's pods are selected.
type LogsOptions struct {
	Pod    string
	Target Target
	// Run narrows the output of a job to one run.
	Run string
	// Init selects an init container of each pod instead of the pod's own.
	Init string
	// ClusterPod and Container choose among the pods of an application in a Kubernetes cluster, and their containers.
	ClusterPod, Container string
	// Previous selects the output of earlier pods: for an object the earlier attempts at its newest release, or else the
	// pods that its pods replaced; for a pod the one before it. It can't be followed.
	Previous bool
	Follow   bool
	// Tail keeps the last n lines of each pod; nil keeps all.
	Tail *int
	// Since drops older lines; zero keeps all.
	Since time.Time
}

// LogStream reads lines of output.
type LogStream struct{ stream *stream }

// Logs begins to read output. Close the stream.
func (c *Client) Logs(ctx context.Context, opts LogsOptions) (*LogStream, error) {
	r := streamRequest("/v1/logs")
	r.query = opts.Target.query("run", opts.Run)
	if opts.Pod != "" {
		r = streamRequest(podPath(opts.Pod, "/logs"))
		r.query = queryWith()
	}
	for name, value := range map[string]string{"init": opts.Init, "pod": opts.ClusterPod, "container": opts.Container} {
		if value != "" {
			r.query.Set(name, value)
		}
	}
	if opts.Previous {
		r.query.Set("previous", "1")
	}
	if opts.Follow {
		r.query.Set("follow", "1")
	}
	if opts.Tail != nil {
		r.query.Set("tail", strconv.Itoa(*opts.Tail))
	}
	if !opts.Since.IsZero() {
		r.query.Set("since", opts.Since.UTC().Format(time.RFC3339Nano))
	}
	opened, err := c.openStream(ctx, r, 0)
	if err != nil {
		return nil, err
	}
	return &LogStream{opened}, nil
}

// Next returns the next line, or io.EOF at the end. A line with an Error holds the reason why a pod's output ended.
func (l *LogStream) Next() (api.LogLine, error) {
	var line api.LogLine
	err := l.stream.next(&line)
	return line, err
}

// Close ends the stream.
func (l *LogStream) Close() error { return l.stream.Close() }
