//go:build integration

package histories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"tend.dev/tend/api"
)

// giveUp is the time for which a client waits for an answer. Answers that take longer than maxWait are counted: how
// long one takes also depends on the machine.
const (
	giveUp  = 45 * time.Second
	maxWait = 30 * time.Second
)

// call is one request of the API.
type call struct {
	method, path string
	query        url.Values
	body         any
}

// reply is the result.
type reply struct {
	status  int
	title   string // of a problem
	stale   string
	body    []byte
	err     error // there is no answer
	unsent  bool  // there was no server to send it to
	took    time.Duration
	problem string
}

// caller sends calls to a server.
type caller func(call) reply

// caller returns a function that calls a server, over a new connection for each call: nothing is sent twice.
func (s *server) caller() caller {
	dialer := net.Dialer{}
	transport := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", s.socket())
		}}
	return func(c call) reply {
		began := time.Now()
		out := send(transport, c)
		out.took = time.Since(began)
		return out
	}
}

func send(transport http.RoundTripper, c call) reply {
	ctx, cancel := context.WithTimeout(context.Background(), giveUp)
	defer cancel()
	text, err := json.Marshal(c.body)
	if err != nil {
		return reply{err: err, unsent: true}
	}
	if c.body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(ctx, c.method, "http://tend"+c.path+"?"+c.query.Encode(),
		bytes.NewReader(text))
	if err != nil {
		return reply{err: err, unsent: true}
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		var dial *net.OpError
		return reply{err: err, unsent: errors.As(err, &dial) && dial.Op == "dial"}
	}
	defer response.Body.Close()
	out := reply{status: response.StatusCode, stale: response.Header.Get(api.HeaderStale)}
	if out.body, err = io.ReadAll(response.Body); err != nil {
		return reply{err: err}
	}
	var problem api.Problem
	if out.status >= http.StatusBadRequest && json.Unmarshal(out.body, &problem) == nil {
		out.title, out.problem = problem.Title, problem.Error()
	}
	return out
}

// meaning returns the word for a reply that isn't a success; done for a success.
func (r reply) meaning() answer {
	switch {
	case r.unsent:
		return refused
	case r.err != nil, r.title == api.OutcomeUnknown:
		return unknown
	case r.status == http.StatusNotFound:
		return absent
	case r.title == "Terminating":
		return terminating
	case r.status >= http.StatusBadRequest:
		return refused
	}
	return done
}

// honest returns the fault of a reply by itself, or "".
func (r reply) honest() string {
	if r.status == http.StatusInternalServerError {
		return "an answer is 500: " + r.problem
	}
	return ""
}
