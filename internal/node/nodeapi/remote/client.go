package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/caddyserver/certmagic"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/node/nodeapi"
	"tend.dev/tend/internal/node/nodeapi/wire"
)

// Options are the options of a Client. Server and HTTP are required.
type Options struct {
	// Server is the URL of the server: https://HOST:PORT.
	Server string
	// HTTP has the node's certificate and uses HTTP/2: locks hold both directions of a request open.
	HTTP *http.Client
	// Lost is called when the server has ended the stream, or can't be reached: another one may. Default: nothing is.
	Lost func(error)
	// Held lets the client follow a server that is paused after the restore of an older store, and no other. The machine
	// touches no containers meanwhile.
	Held bool
	// Several reports whether Lost may lead to another server. Default: it doesn't.
	Several func() bool
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Client is the agent's half: it implements nodeapi.Control over a connection. Create it with New, and Run it.
type Client struct {
	*mirror
	server  string
	held    bool
	http    *http.Client
	caller  wire.Caller
	log     *slog.Logger
	storage *storage
	lost    func(error)
	several func() bool
	silent  atomic.Pointer[time.Timer] // ends the stream; nil while there is none
	lease   atomic.Int64               // how long a heartbeat lasts, as a server said; 0 is unknown
	left    instant                    // when a server that refused one was given up
}

var _ nodeapi.Control = (*Client)(nil)

// New returns a Client. It knows nothing until it runs.
func New(o Options) *Client {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Lost == nil {
		o.Lost = func(error) {}
	}
	if o.Several == nil {
		o.Several = func() bool { return false }
	}
	c := &Client{lost: o.Lost, several: o.Several, held: o.Held, mirror: newMirror(), server: o.Server, http: o.HTTP,
		log: o.Logger}
	c.caller = wire.Caller{Base: o.Server + Prefix, Do: wire.Patient(o.HTTP.Do)} //nolint:bodyclose // who calls it closes it
	c.storage = &storage{client: c, locks: map[string]func(){}}
	return c
}

// The backoff between two attempts to connect: doubling, with jitter.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
)

// What Run and Current return if another client must go on, which knows nothing.
var (
	// ErrRestored means that the server is paused, because an older store was restored: what this client knows may be
	// of the newer one. A client that is Held may follow the server until it has been resumed.
	ErrRestored = errors.New("the server is paused after the restore of an older store")
	// ErrResumed means that the pause for which this client is Held is over.
	ErrResumed = errors.New("the server was resumed")
)

// Current returns ErrRestored if the server is paused and the client knows something from before, ErrResumed if it
// isn't and the client is Held. If the server may not know, it returns another error.
func (c *Client) Current(ctx context.Context) error {
	var now state
	if err := c.caller.Get(ctx, c.asHeld("state?"), &now); err != nil {
		return err
	}
	var final error
	switch {
	case c.held && now.Paused == "":
		final = ErrResumed
	case !c.held && now.Paused != "" && c.revisionNow() > 0:
		final = ErrRestored
	}
	if final != nil && now.Behind != "" {
		return fmt.Errorf("the server may not know whether the cluster is paused: %s", now.Behind)
	}
	return final
}

// asHeld adds the parameter by which the server knows a client that is Held to a path with a query.
func (c *Client) asHeld(path string) string {
	if c.held {
		path += "&" + heldParameter + "=yes"
	}
	return path
}

// Servers returns the addresses of the servers that take nodes, as the connected one knows them, and the fingerprints
// of the cluster's authorities: the first is the one that issues. It says which of them the node has.
func (c *Client) Servers(ctx context.Context, has Trust) (servers, roots []string, err error) {
	var now state
	err = c.caller.Get(ctx, c.asHeld("state?"+has.query()), &now)
	return now.Servers, now.Roots, err
}

// Run follows the server until ctx ends, and reconnects whenever the connection is lost. It returns ErrRestored or
// ErrResumed if another client must go on.
func (c *Client) Run(ctx context.Context) error {
	wait := newBackoff()
	lost := false
	for ctx.Err() == nil {
		began := c.revisionNow()
		err := c.follow(ctx, func() {
			if wait.Reset(); lost {
				c.log.Info("connected to a server again")
			}
			lost = false
		})
		if c.revisionNow() != began {
			wait.Reset()
		}
		switch {
		case errors.Is(err, ErrResumed):
			return ErrResumed
		case errors.Is(err, node.ErrPaused) && !c.held: // else the server is of a version that lets no node follow
			return ErrRestored
		}
		if !lost && ctx.Err() == nil {
			c.log.Warn("the connection to the server is lost; what runs goes on, and connecting is tried again, to any server that is known", "error", err)
			lost = true
		}
		if ctx.Err() == nil {
			c.lost(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.NextBackOff()):
		}
	}
	return nil
}

// follow applies what the server sends until the stream ends or is silent for too long. It calls connected once the
// server has answered.
func (c *Client) follow(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(silentTime, func() { cancel(errSilent) })
	defer silent.Stop()
	stuck := time.AfterFunc(stuckTime, func() { cancel(errSilent) })
	defer stuck.Stop()
	c.silent.Store(silent)
	defer c.silent.Store(nil)
	answer, err := c.caller.Send(ctx, http.MethodGet, c.asHeld(c.position()), nil)
	if err != nil {
		return errOr(context.Cause(ctx), err)
	}
	defer answer.Body.Close()
	if c.held && answer.Header.Get(pausedHeader) == "" {
		return ErrResumed
	}
	c.begin()
	connected()
	frames := json.NewDecoder(answer.Body)
	for {
		var frame node.Frame
		if err := frames.Decode(&frame); err != nil {
			return errOr(context.Cause(ctx), err)
		}
		silent.Reset(silentTime)
		stuck.Reset(stuckTime)
		c.apply(frame)
	}
}

func errOr(cause, err error) error {
	if cause != nil {
		return cause
	}
	return err
}

// Report implements nodeapi.Control.
func (c *Client) Report(ctx context.Context, report node.Report) error {
	var answer reported
	if err := c.caller.Post(ctx, "report", report, &answer); err != nil {
		return err
	}
	if err := c.waitFor(ctx, answer.Revision); err != nil {
		return err
	}
	if len(answer.Refused) > 0 {
		return &node.RefusedError{Parts: answer.Refused, Cause: node.ErrForbidden}
	}
	return nil
}

// ReportIngress implements nodeapi.Control.
func (c *Client) ReportIngress(ctx context.Context, status api.IngressNodeStatus) error {
	return c.caller.Post(ctx, "ingress", status, &reported{})
}

// ReportNetwork implements nodeapi.Control.
func (c *Client) ReportNetwork(ctx context.Context, status api.NetworkNodeStatus) error {
	return c.caller.Post(ctx, "network", status, &reported{})
}

// Resolve implements nodeapi.Control.
func (c *Client) Resolve(ctx context.Context, name string) (names node.Names, err error) {
	return names, c.caller.Get(ctx, "resolve?name="+url.QueryEscape(name), &names)
}

// Release implements nodeapi.Control.
func (c *Client) Release(ctx context.Context, task api.Task) (release node.Release, err error) {
	return release, c.caller.Post(ctx, "release", task, &release)
}

// Registry implements nodeapi.Control.
func (c *Client) Registry(ctx context.Context, host string) (node.Registry, bool, error) {
	var answer registry
	err := c.caller.Get(ctx, "registry?host="+url.QueryEscape(host), &answer)
	return answer.Registry, answer.Declared, err
}

// BuildSecrets implements nodeapi.Control.
func (c *Client) BuildSecrets(ctx context.Context, owner api.Ref) (values map[string]string, err error) {
	return values, c.caller.Post(ctx, "build-secrets", owner, &values)
}

// Referred implements nodeapi.Control.
func (c *Client) Referred(ctx context.Context, names []string) (map[string]bool, error) {
	used := map[string]bool{}
	for some := range slices.Chunk(names, node.MaxReferred) {
		if err := c.caller.Post(ctx, "referred", some, &used); err != nil { // what was there stays
			return nil, err
		}
	}
	return used, nil
}

// Blob implements nodeapi.Control.
func (c *Client) Blob(ctx context.Context, digest string) (io.ReadCloser, error) {
	return c.read(ctx, "blobs/"+url.PathEscape(digest))
}

// ReleaseImage implements nodeapi.Control.
func (c *Client) ReleaseImage(ctx context.Context, task api.Task, has node.Part) (io.ReadCloser, error) {
	return c.read(ctx, "release-images/"+url.PathEscape(task.ID)+wire.QueryOf(has))
}

func (c *Client) read(ctx context.Context, path string) (io.ReadCloser, error) {
	answer, err := c.caller.Send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Certificates implements nodeapi.Control.
func (c *Client) Certificates() certmagic.Storage { return c.storage }

// Sign implements nodeapi.Control.
func (c *Client) Sign(ctx context.Context, request []byte) ([]byte, error) {
	var answer signed
	err := c.caller.Post(ctx, "sign", signed{Request: request}, &answer)
	return answer.Certificate, err
}
