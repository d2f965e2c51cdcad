package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// Options selects the server to call.
type Options struct {
	// Server is unix:///path/to/tend.sock, https://host:port, http://127.0.0.1:port, or
	// ssh://user@host[:port][/path/to/tend.sock].
	Server string
	// ServerFrom names the origin of Server, for the error of one that doesn't answer. Default: Server is a default.
	ServerFrom string
	// Token is sent to http and https servers; the unix socket, also one reached over SSH, needs none. An access token
	// may name the authority of the https server's certificate.
	Token string
	// TokenFrom is the origin of Token, or the place where no token was found, for the error of a server that refuses the
	// call. Default: the text "this client's options".
	TokenFrom string
	// PluginCall is the id of the plugin's call (TEND_PLUGIN_CALL) that this client is part of: the server bounds the
	// depth of nested calls, and refuses changes within a dry run. Default: none.
	PluginCall string
	// Traceparent is the span that this client is part of, in the form of the W3C header: the server's spans continue its
	// trace. Default: none.
	Traceparent string
	// Dial connects to the server instead of to the address in Server. Default: Server's address.
	Dial func(ctx context.Context) (net.Conn, error)
	// OnPaused is called with the reason when a server answers that it is paused: it changes nothing until it is resumed.
	// It may be called for every answer but those that refuse a call for it. Default: no call.
	OnPaused func(reason string)
	// OnStale is called with the reason when a read may lack earlier writes of other servers, which this one can't reach.
	// It may be called for every answer. Default: no call.
	OnStale func(reason string)
}

// Client calls one server. Safe for concurrent use.
type Client struct {
	server string
	named  string // the origin of server
	base   string
	token  string
	from   string
	within string
	trace  string
	paused func(reason string)
	stale  func(reason string)
	http   *http.Client
	// slow waits longer for an answer to begin.
	slow *http.Client
}

// maxAnswer bounds the bytes read of an answer that isn't a stream.
const maxAnswer = 256 << 20

// slowAnswer bounds a slow answer: one that waits for a plugin's hook and for fetching the plugin.
const slowAnswer = 20 * time.Minute

// New makes a client. It sends nothing yet.
func New(opts Options) (*Client, error) {
	if opts.Server != "" && !strings.Contains(opts.Server, "://") {
		return nil, fmt.Errorf("server %q names no protocol: write https://%s, unix:///PATH or ssh://user@host",
			opts.Server, opts.Server)
	}
	parsed, err := url.Parse(opts.Server)
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", opts.Server, err)
	}
	c := &Client{server: opts.Server, named: opts.ServerFrom, token: opts.Token, from: opts.TokenFrom,
		within: opts.PluginCall, trace: opts.Traceparent, paused: opts.OnPaused, stale: opts.OnStale}
	// No proxy from the environment: the server is on this machine, or named on purpose.
	transport := &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute,
		ResponseHeaderTimeout: 2 * time.Minute}
	switch {
	case parsed.Scheme == "unix" && parsed.Host == "" && parsed.Path != "":
		c.base = "http://tend"
		c.token = ""
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", parsed.Path)
		}
	case parsed.Scheme == "ssh":
		c.base, c.token = "http://tend", ""
		if transport.DialContext, err = sshDialer(parsed); err != nil {
			return nil, err
		}
	case parsed.Scheme == "http" && parsed.Host != "" && opts.Token != "" && opts.Dial == nil && !isLoopback(parsed):
		return nil, fmt.Errorf("server %q: http would show the token to the network: use https://%s or ssh://user@host",
			opts.Server, parsed.Host)
	case parsed.Scheme == "http" && parsed.Host != "":
		c.base = "http://" + parsed.Host
	case parsed.Scheme == "https" && parsed.Host != "":
		c.base = "https://" + parsed.Host
		transport.TLSClientConfig, transport.TLSHandshakeTimeout = tlsFor(opts.Token), 20*time.Second
	default:
		return nil, fmt.Errorf("server %q: use unix:///path/to/tend.sock, https://host:8685, http://127.0.0.1:8686 or ssh://user@host", opts.Server)
	}
	if opts.Dial != nil {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return opts.Dial(ctx) }
	}
	slow := transport.Clone()
	slow.ResponseHeaderTimeout = slowAnswer
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http, c.slow = &http.Client{Transport: transport, CheckRedirect: stay},
		&http.Client{Transport: slow, CheckRedirect: stay}
	return c, nil
}

// Close frees idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.slow.CloseIdleConnections()
}

// Server returns the address that the client calls.
func (c *Client) Server() string { return c.server }

// request is one call.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	// stream, of size bytes, is sent in place of body.
	stream      io.Reader
	size        int64
	contentType string
	header      http.Header
	// slow is set if the answer may take long, because a hook of a plugin runs first.
	slow bool
}

// send performs a call and returns a successful response; the caller closes the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	response, err := c.do(ctx, r)
	if err == nil && response.StatusCode >= 300 {
		defer response.Body.Close()
		return nil, problemFrom(response)
	}
	return response, err
}

// do performs a call and returns any response; the caller closes the body.
func (c *Client) do(ctx context.Context, r request) (*http.Response, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	body, size := r.stream, r.size
	if body == nil {
		body, size = bytes.NewReader(r.body), int64(len(r.body))
	}
	call, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", r.path, err)
	}
	call.ContentLength = size
	maps.Copy(call.Header, r.header)
	if r.contentType != "" {
		call.Header.Set("Content-Type", r.contentType)
	}
	if r.slow {
		return c.perform(c.slow.Do, call)
	}
	return c.perform(c.http.Do, call)
}

// perform sends a call with the headers that this client adds to each.
func (c *Client) perform(send func(*http.Request) (*http.Response, error), call *http.Request) (*http.Response, error) {
	ctx := call.Context()
	if c.token != "" {
		call.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.within != "" {
		call.Header.Set("Tend-Plugin-Call", c.within)
	}
	if c.trace != "" {
		call.Header.Set("Traceparent", c.trace)
	}
	if key, ok := ctx.Value(idempotencyKey{}).(string); ok {
		call.Header.Set(api.IdempotencyKey, key)
	}
	response, err := send(call)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	if response.StatusCode == http.StatusUnauthorized {
		defer response.Body.Close()
		return nil, c.refused(response)
	}
	// An answer that refuses for the pause says so itself.
	if why := response.Header.Get(api.HeaderPaused); why != "" && c.paused != nil &&
		response.StatusCode != http.StatusServiceUnavailable {
		c.paused(why)
	}
	if why := response.Header.Get(api.HeaderStale); why != "" && c.stale != nil {
		c.stale(why)
	}
	return response, nil
}

// failure returns the error of a call that got no answer.
func (c *Client) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if ssh, ok := errors.AsType[*SSHError](err); ok {
		return &UnreachableError{Server: c.server, From: c.named, Err: ssh}
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return &UnreachableError{Server: c.server, From: c.named, Err: dial.Err}
	}
	if fault := certificateFault(c.server, err); fault != nil {
		return fault
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &UnreachableError{Server: c.server, Err: err, Sent: true}
}

// problemFrom returns the problem in an answer, or makes one if the answer comes from a proxy in between.
func problemFrom(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	return problemOf(response, body)
}

// problemOf decodes the problem in an answer. The answer of another program becomes a problem with its text.
func problemOf(response *http.Response, body []byte) error {
	problem := &api.Problem{}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") &&
		json.Unmarshal(body, problem) == nil && problem.Title != "" {
		problem.Status = response.StatusCode
		return problem
	}
	text := strings.TrimSpace(string(body[:min(len(body), 500)]))
	return &api.Problem{Status: response.StatusCode, Title: response.Status,
		Detail: strings.TrimSpace("the server answered " + response.Status + " " + text),
		Next:   "see that this is a Tend server"}
}

// call performs a call and reads its JSON answer.
func call[Out any](ctx context.Context, c *Client, r request) (Out, error) {
	var out Out
	response, err := c.send(ctx, r)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&out); err != nil {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		return out, fmt.Errorf("read the answer of %s: %w", r.path, err)
	}
	return out, nil
}

// queryWith returns the parameters that are not empty.
func queryWith(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return ""
}
