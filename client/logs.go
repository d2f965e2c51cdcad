package client

import (
	"context"
	"strconv"
	"time"

	"tend.dev/tend/api"
)

// LogsOptions choose output. Pod names one pod, else Target's pods are all meant.
type LogsOptions struct {
	Pod    string
	Target Target
	// Run narrows the output of a job to one run.
	Run string
	// Init chooses an init container of each pod in place of the pod's own.
	Init string
	// ClusterPod and Container choose among the pods of an application in a Kubernetes cluster, and their containers.
	ClusterPod, Container string
	// Previous chooses the output of earlier pods: of an object the earlier attempts at its newest release, or else what
	// its pods replaced; of a pod what ran before it. It can't be followed.
	Previous bool
	Follow   bool
	// Tail keeps the last n lines of each pod; nil keeps all.
	Tail *int
	// Since drops what is older; zero keeps all.
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

// Next is the next line; io.EOF at the end. A line with an Error says why a pod's part ended.
func (l *LogStream) Next() (api.LogLine, error) {
	var line api.LogLine
	err := l.stream.next(&line)
	return line, err
}

// Close ends the stream.
func (l *LogStream) Close() error { return l.stream.Close() }
