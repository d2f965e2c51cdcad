package session_test

import (
	"context"
	"errors"
	"io"
	"testing/synctest"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/runtime"
)

// manyLines of an output are read, and no more.
const manyLines = 1000

var errEnough = errors.New("enough")

// messages are all that a server sends to a node.
var messages = map[string]message{
	// Only the status of the answer counts: a node that calls itself ready is believed, for its own pods.
	"GET /ready": {call: isReady, most: notRead, takes: []string{anotherValue, anObject, noJSON, redirect, oversized, blank,
		values, trickle, begun, cut}},
	"GET /containers": {call: listed},
	"POST /stats":     {call: sampled(nodeapi.Node.Stats)},
	"POST /load":      {call: sampled(nodeapi.Node.Load)},
	"POST /stop/{pod}": {call: func(ctx context.Context, n nodeapi.Node) error { return n.Stop(ctx, "p") },
		takes: []string{anObject, values}},
	"POST /discard/{pod}": {call: func(ctx context.Context, n nodeapi.Node) error { return n.Discard(ctx, "c") },
		takes: []string{anObject, values}},
	"GET /builds/{name}": {call: func(ctx context.Context, n nodeapi.Node) error {
		left := manyLines
		err := n.BuildLog(ctx, "b", true, func(string) error {
			if left--; left == 0 {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	}, most: ofALine, takes: []string{anObject, values}},
	"GET /logs/{pod}":      {call: logged(nodeapi.Node.Logs), most: ofALine, takes: []string{anObject, values}},
	"GET /kept-logs/{pod}": {call: logged(nodeapi.Node.KeptLog), most: ofALine, takes: []string{anObject, values}},
	"POST /kept-logs": {call: func(ctx context.Context, n nodeapi.Node) error {
		_, err := n.KeptLogs(ctx, api.Ref{})
		return err
	}},
	"POST /exec/{pod}": {call: executed, most: notRead},
	// The bytes are checked by the engine that adds the image: they are the digest's, or are dropped.
	"GET /images/{id}": {call: saved, most: ofAPart + notRead,
		takes: []string{anotherValue, anObject, noJSON, redirect, oversized, blank, values}},
	"POST /find-image": {call: func(ctx context.Context, n nodeapi.Node) error {
		_, err := n.FindImage(ctx, "prod", "web:1")
		return err
	}, takes: []string{anObject, values}},
	"POST /disk": {call: func(ctx context.Context, n nodeapi.Node) error { _, err := n.Disk(ctx, false); return err },
		takes: []string{anObject, values}},
}

// isReady asks whether the node has observed its pods.
func isReady(_ context.Context, n nodeapi.Node) error {
	synctest.Wait()
	if !n.Observed("p") {
		return errors.New("it isn't ready")
	}
	return nil
}

func listed(ctx context.Context, n nodeapi.Node) error {
	_, err := n.List(ctx)
	return err
}

func sampled(
	sample func(nodeapi.Node, context.Context, []string) []runtime.Usage,
) func(context.Context, nodeapi.Node) error {
	return func(ctx context.Context, n nodeapi.Node) error { return sample(n, ctx, []string{"p"})[0].Err }
}

func logged(
	open func(nodeapi.Node, context.Context, string, runtime.LogOptions) (runtime.LogReader, error),
) func(context.Context, nodeapi.Node) error {
	return func(ctx context.Context, n nodeapi.Node) error {
		reader, err := open(n, ctx, "p", runtime.LogOptions{Follow: true})
		if err != nil {
			return err
		}
		defer reader.Close()
		for range manyLines {
			if _, err = reader.Next(); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

func executed(ctx context.Context, n nodeapi.Node) error {
	running, err := n.Exec(ctx, "p", runtime.ExecOptions{Command: []string{"true"}})
	if err != nil {
		return err
	}
	defer running.Close()
	_, err = running.Wait(ctx)
	return err
}

func saved(ctx context.Context, n nodeapi.Node) error {
	content, err := n.SaveImage(ctx, "sha256:a", node.Part{})
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.CopyN(io.Discard, content, ofAPart)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
