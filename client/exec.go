package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"tend.dev/tend/api"
	"tend.dev/tend/client/frame"
)

// ExecIO is what a command is connected to. Missing parts are not connected.
type ExecIO struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Resize tells the terminal's sizes as they change.
	Resize <-chan frame.Size
}

// Exec runs a command in a pod and returns its exit code. With a TTY everything comes on Stdout. A Stdin that blocks
// in Read outlives the call until its next read returns.
func (c *Client) Exec(ctx context.Context, pod string, command api.ExecRequest, streams ExecIO) (int, error) {
	command.Stdin = command.Stdin || streams.Stdin != nil
	body, err := json.Marshal(command)
	if err != nil {
		return 0, fmt.Errorf("encode the command: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := c.send(ctx, request{method: http.MethodPost, path: podPath(pod, "/exec"), body: body, contentType: "application/json",
		header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {frame.Protocol}}})
	if err != nil {
		return 0, err
	}
	conn, ok := response.Body.(io.ReadWriteCloser)
	if !ok || response.StatusCode != http.StatusSwitchingProtocols {
		response.Body.Close()
		return 0, &api.Problem{Title: "Bad Gateway", Status: http.StatusBadGateway, Detail: "the server did not upgrade to " + frame.Protocol,
			Next: "call the server without a proxy between"}
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	session := &execClient{conn: conn}
	go session.input(streams.Stdin)
	go session.resize(ctx, streams.Resize)
	code, err := session.output(streams)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return code, err
}

type execClient struct {
	conn io.ReadWriter
	// writing keeps frames whole.
	writing sync.Mutex
}

func (e *execClient) write(kind frame.Kind, payload []byte) error {
	e.writing.Lock()
	defer e.writing.Unlock()
	return frame.Write(e.conn, kind, payload)
}

func (e *execClient) input(from io.Reader) {
	if from == nil {
		return
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && e.write(frame.Stdin, buffer[:n]) != nil {
			return
		}
		if err != nil {
			_ = e.write(frame.Close, nil)
			return
		}
	}
}

func (e *execClient) resize(ctx context.Context, sizes <-chan frame.Size) {
	if sizes == nil {
		return
	}
	for {
		select {
		case size, open := <-sizes:
			payload, err := json.Marshal(size)
			if !open || err != nil || e.write(frame.Resize, payload) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// output hands on what the command writes until it ends.
func (e *execClient) output(streams ExecIO) (int, error) {
	for {
		kind, payload, err := frame.Read(e.conn)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, fmt.Errorf("the connection was cut before the command ended: %w", err)
		}
		switch kind {
		case frame.Stdout:
			err = writeTo(streams.Stdout, payload)
		case frame.Stderr:
			err = writeTo(streams.Stderr, payload)
		case frame.Exit:
			var status frame.Status
			err = json.Unmarshal(payload, &status)
			return status.Code, err
		case frame.Error:
			problem := &api.Problem{}
			if err := json.Unmarshal(payload, problem); err != nil {
				return 0, fmt.Errorf("read the stream: %w", err)
			}
			return 0, problem
		}
		if err != nil {
			return 0, err
		}
	}
}

func writeTo(w io.Writer, payload []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(payload)
	return err
}
