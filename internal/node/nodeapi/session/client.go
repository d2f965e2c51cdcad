package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/node/execstream"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/wire"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/platform/recovery"
)

// A connection that is silent for pingAfter is checked, and given up if no answer comes within pingTime. Checks
// every 10 s would be a third of what a server at rest receives.
const (
	pingAfter = 30 * time.Second
	pingTime  = 10 * time.Second
)

// client is the server's end of a connection. It implements nodeapi.Node.
type client struct {
	conn   *http.ClientConn
	caller wire.Caller
	ready  atomic.Bool
	closed chan struct{}
	once   sync.Once
	cancel context.CancelFunc
}

var _ nodeapi.Node = (*client)(nil)

var errDialled = errors.New("the connection of the node has ended")

func open(conn net.Conn) (*client, error) {
	unused := make(chan net.Conn, 1)
	unused <- conn
	transport := &http.Transport{
		Protocols: onlyHTTP2(),
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: outputBuffer, SendPingTimeout: pingAfter, PingTimeout: pingTime,
			MaxDecoderHeaderTableSize: boundary.HeaderTable, MaxEncoderHeaderTableSize: boundary.HeaderTable,
		},
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case conn := <-unused:
				return conn, nil
			default:
				return nil, errDialled
			}
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{closed: make(chan struct{}), cancel: cancel}
	var err error
	if c.conn, err = transport.NewClientConn(ctx, "http", "node:80"); err != nil {
		cancel()
		return nil, err
	}
	c.caller = wire.Caller{Base: "http://node/", Do: c.roundTrip}
	c.conn.SetStateHook(func(conn *http.ClientConn) {
		if conn.Err() != nil {
			c.end()
		}
	})
	if c.conn.Err() != nil {
		c.end()
	}
	recovery.Go(func() { c.awaitReady(ctx) })
	return c, nil
}

func onlyHTTP2() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// roundTrip sends a request. If the connection ends before the answer comes, the error tells whether the node can have
// received it. node.ErrNotConnected: it was never sent, and may be sent again, or to another node. A problem of status
// 503: what was asked for may have been done.
func (c *client) roundTrip(request *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }} // also if that failed half-way
	answer, err := c.conn.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	switch {
	case err == nil || request.Context().Err() != nil:
		return answer, err
	case !sent.Load():
		return nil, fmt.Errorf("%w: its connection has ended: %w", node.ErrNotConnected, err)
	}
	return nil, &api.Problem{Title: "NodeCut", Status: http.StatusServiceUnavailable,
		Detail: "the connection of the node has ended: " + err.Error(),
		Next:   "what was asked for may have been done: see with tend nodes whether the node is back, and try again"}
}

func (c *client) end() { c.once.Do(func() { close(c.closed) }) }

func (c *client) close() {
	c.cancel()
	_ = c.conn.Close()
}

// awaitReady notes when the agent has reconciled every task once.
func (c *client) awaitReady(ctx context.Context) {
	answer, err := c.caller.Send(ctx, http.MethodGet, "ready", nil)
	if err != nil {
		return
	}
	_ = answer.Body.Close()
	c.ready.Store(true)
}

// Observed implements nodeapi.Node: an agent that is ready has observed the containers of all tasks.
func (c *client) Observed(string) bool { return c.ready.Load() }

// List implements nodeapi.Node.
func (c *client) List(ctx context.Context) (listed []runtime.Container, err error) {
	return listed, c.caller.Get(ctx, "containers", &listed)
}

// Stats implements nodeapi.Node.
func (c *client) Stats(ctx context.Context, pods []string) []runtime.Usage {
	return c.sample(ctx, "stats", pods)
}

// Load implements nodeapi.Node.
func (c *client) Load(ctx context.Context, pods []string) []runtime.Usage {
	return c.sample(ctx, "load", pods)
}

func (c *client) sample(ctx context.Context, path string, pods []string) []runtime.Usage {
	var samples []sample
	err := c.caller.Post(ctx, path, pods, &samples)
	if err == nil && len(samples) != len(pods) {
		err = errOther
	}
	out := make([]runtime.Usage, len(pods))
	for i := range out {
		if err != nil {
			out[i].Err = err
		} else {
			out[i] = samples[i].usage()
		}
	}
	return out
}

// Stop implements nodeapi.Node.
func (c *client) Stop(ctx context.Context, pod string) error {
	return c.caller.Post(ctx, "stop/"+url.PathEscape(pod), nil, &struct{}{})
}

// Discard implements nodeapi.Node.
func (c *client) Discard(ctx context.Context, container string) error {
	return c.caller.Post(ctx, "discard/"+url.PathEscape(container), nil, &struct{}{})
}

// Disk implements nodeapi.Node.
func (c *client) Disk(ctx context.Context, prune bool) (disk api.NodeDisk, err error) {
	return disk, c.caller.Post(ctx, "disk?prune="+strconv.FormatBool(prune), nil, &disk)
}

// FindImage implements nodeapi.Node.
func (c *client) FindImage(ctx context.Context, scope, name string) (found node.FoundImage, err error) {
	return found, c.caller.Post(ctx, "find-image", soughtImage{scope, name}, &found)
}

// Logs implements nodeapi.Node.
func (c *client) Logs(ctx context.Context, pod string, opts runtime.LogOptions) (runtime.LogReader, error) {
	return c.logs(ctx, "logs/", pod, opts)
}

// KeptLog implements nodeapi.Node.
func (c *client) KeptLog(ctx context.Context, container string, opts runtime.LogOptions) (runtime.LogReader, error) {
	return c.logs(ctx, "kept-logs/", container, opts)
}

// KeptLogs implements nodeapi.Node.
func (c *client) KeptLogs(ctx context.Context, owner api.Ref) (kept []node.KeptLog, err error) {
	err = c.caller.Post(ctx, "kept-logs", owner, &kept)
	return kept[:min(len(kept), node.MaxKeptLogs)], err
}

func (c *client) logs(ctx context.Context, path, name string, opts runtime.LogOptions) (runtime.LogReader, error) {
	query := url.Values{"follow": {strconv.FormatBool(opts.Follow)}, "tail": {strconv.Itoa(opts.Tail)}}
	if !opts.Since.IsZero() {
		query.Set("since", opts.Since.Format(time.RFC3339Nano))
	}
	reader, err := c.lines(ctx, path+url.PathEscape(name)+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	return reader, nil
}

// lines requests output.
func (c *client) lines(ctx context.Context, path string) (*lines, error) {
	answer, err := c.caller.Send(ctx, http.MethodGet, path, nil) //nolint:bodyclose // Close of the lines ends it
	if err != nil {
		return nil, err
	}
	return newLines(answer.Body), nil
}

// BuildLog implements nodeapi.Node.
func (c *client) BuildLog(ctx context.Context, called string, follow bool, each func(line string) error) error {
	reader, err := c.lines(ctx, "builds/"+url.PathEscape(called)+"?follow="+strconv.FormatBool(follow))
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(line.Text); err != nil {
			return err
		}
	}
}

// Exec implements nodeapi.Node.
func (c *client) Exec(ctx context.Context, pod string, opts runtime.ExecOptions) (runtime.Exec, error) {
	head, err := json.Marshal(opts)
	if err != nil {
		return nil, err
	}
	body, in := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	// net/http notices the end of ctx only once the body has been read.
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	sent := input{io.MultiReader(bytes.NewReader(append(head, '\n')), body), body}
	answer, err := c.caller.Send(ctx, http.MethodPost, "exec/"+url.PathEscape(pod), sent)
	if err != nil {
		cancel()
		return nil, err
	}
	end := func() error { cancel(); return answer.Body.Close() }
	return execstream.NewRemote(execstream.Framed(answer.Body, in, end), opts.Stdin, wire.ErrorOf), nil
}

// input is the body of a command's request. Its Close ends a blocked read: without it, a request whose connection is
// cut would wait for what a user types next.
type input struct {
	io.Reader
	io.Closer
}
