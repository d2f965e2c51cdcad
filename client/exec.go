package client

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
)

// ExecIO holds the streams that a command is connected to. Nil ones are not connected.
type ExecIO struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Resize sends the terminal's sizes as they change.
	Resize <-chan execwire.Size
}

// Exec runs a command in a pod and returns its exit code. With a TTY, Stdout carries all output. A Stdin that blocks in
// Read outlives the call until its next read returns. It returns the server's *api.Problem, an UnreachableError, the
// cause of ctx, the error of a writer, or the reason why the connection was cut.
func (c *Client) Exec(ctx context.Context, pod string, command api.ExecRequest, streams ExecIO) (int, error) {
	command.Stdin = command.Stdin || streams.Stdin != nil
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := c.socket(ctx, podPath(pod, "/exec"), execwire.Protocol)
	if err != nil {
		return 0, err
	}
	defer conn.CloseNow() //nolint:errcheck // nothing is written any more
	conn.SetReadLimit(execwire.MaxMessage)
	code := 0
	if err = execwire.Send(ctx, conn, command); err == nil {
		go sendInput(ctx, conn, streams.Stdin)
		go sendSizes(ctx, conn, streams.Resize)
		code, err = execwire.Output(ctx, conn, streams.Stdout, streams.Stderr)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return code, err
}

// socket opens a WebSocket.
func (c *Client) socket(ctx context.Context, path, protocol string) (*websocket.Conn, error) {
	var failure error
	through := roundTripper(func(call *http.Request) (*http.Response, error) {
		response, err := c.perform(c.http.Transport.RoundTrip, call)
		if err == nil && response.StatusCode != http.StatusSwitchingProtocols {
			defer response.Body.Close()
			response, err = nil, olderServer(problemFrom(response))
		}
		failure = err
		return response, err
	})
	conn, _, err := websocket.Dial(ctx, c.base+path, &websocket.DialOptions{ //nolint:bodyclose // Dial closes it
		HTTPClient: &http.Client{Transport: through}, Subprotocols: []string{protocol}})
	switch {
	case failure != nil:
		return nil, failure
	case err == nil && conn.Subprotocol() != protocol:
		_ = conn.CloseNow()
		err = errors.New("it speaks another protocol")
	}
	if err != nil {
		return nil, &api.Problem{Title: "Bad Gateway", Status: http.StatusBadGateway,
			Next:   "see that no proxy between changes WebSockets",
			Detail: "the server did not open a WebSocket of " + protocol + ": " + err.Error()}
	}
	return conn, nil
}

// olderServer replaces the next step in the error of a server that doesn't support WebSocket for exec.
func olderServer(err error) error {
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusMethodNotAllowed {
		problem.Next = "update the server: it is older than this client"
	}
	return err
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(call *http.Request) (*http.Response, error) { return f(call) }

// sendInput sends the command's input and its end.
func sendInput(ctx context.Context, conn execwire.Conn, from io.Reader) {
	if from == nil {
		return
	}
	_, _ = io.Copy(execwire.Writer(ctx, conn, execwire.Stdin), from) // an input that breaks has ended
	_ = execwire.Send(ctx, conn, execwire.Control{EOF: true})
}

// sendSizes sends the new sizes of the terminal until ctx ends.
func sendSizes(ctx context.Context, conn execwire.Conn, sizes <-chan execwire.Size) {
	for {
		select {
		case size, open := <-sizes:
			if !open || execwire.Send(ctx, conn, execwire.Control{Resize: &size}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
