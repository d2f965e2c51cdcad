package ingress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"time"

	"tend.dev/tend/internal/node/relay"
	"tend.dev/tend/internal/platform/delay"
)

// errNoPod means that a route has no ready pod, or that each of them was tried.
var errNoPod = errors.New("no pod is ready")

// maxTries bounds the number of pods that one request tries.
const maxTries = 3

// spread is the transport below the reverse proxy: it picks the pod, and tries another one if the first did not get the
// request.
type spread struct {
	now         func() time.Time
	retry, hold time.Duration
}

// retryFor is the time for which a request that no pod accepted is tried again: a pod may be about to listen. While the
// agent of the pod's node is restarted, the time is Hold.
const retryFor = 2 * time.Second

// RoundTrip implements http.RoundTripper. The request carries its exchange in its context.
func (s *spread) RoundTrip(request *http.Request) (*http.Response, error) {
	x := exchangeOf(request.Context())
	if trace := httptrace.ContextClientTrace(request.Context()); trace != nil {
		// the reverse proxy's, of this request alone
		trace.GotConn = x.connected
	}
	if x.body != nil && request.Body != nil {
		x.body.trailer = request.Trailer
		request.Body = io.NopCloser(request.Body) // a transport closes the body, even if it sent nothing of it
	}
	now, cut := s.now(), false
	began, pause := now, 20*time.Millisecond
	for ; ; now = s.now() {
		response, err := s.round(request, x, now, cut)
		until := began.Add(s.retry)
		if cut || x.relayed() && restarting(err) {
			until = began.Add(s.hold)
		}
		if err == nil || s.now().Add(pause).After(until) || request.Context().Err() != nil {
			return response, err
		}
		if !unsent(err) {
			if cut || !x.relayed() || !again(request, err) {
				return response, err
			}
			cut = true // the agent of the pod's node may have been restarted: retry once
		}
		_ = delay.For(request.Context(), pause) // the context also ends an attempt
		pause = min(2*pause, 200*time.Millisecond)
		x.refresh()
	}
}

// round tries one pod after another, and all once more after a cut, until some part of the request was sent.
func (s *spread) round(request *http.Request, x *exchange, now time.Time, cut bool) (*http.Response, error) {
	var room [maxTries]*pod
	tried := room[:0]
	var last error = errNoPod
	for range maxTries {
		p := x.take(tried, now)
		if p == nil {
			break
		}
		tried = append(tried, p)
		x.ask(p, tried, now)
		response, err := s.offer(request, p, x.first())
		if err == nil {
			x.pod, x.answer = p, response.Body
			return response, nil
		}
		last = err
		if request.Context().Err() != nil || x.body.broken() {
			return nil, err // the client has left, or its body did not arrive: not the pod's fault
		}
		now = s.now()
		x.backend.failed(p, now)
		if !again(request, err) || cut && !unsent(err) {
			break
		}
	}
	return nil, last
}

// unsent reports whether no part of a request was sent: the connection could not be made, or there was no pod.
func unsent(err error) bool {
	var op *net.OpError
	return errors.Is(err, errNoPod) || errors.As(err, &op) && op.Op == "dial"
}

// restarting reports whether a node answers but its agent doesn't yet, so that no part of a request was sent.
func restarting(err error) bool {
	var refused *relay.RefusedError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &refused) && refused.Early
}

// offer sends the request to one pod, which counts it as in flight until the answer's body is closed.
func (s *spread) offer(request *http.Request, p *pod, first bool) (*http.Response, error) {
	if !first { // a transport may still read the previous body
		out, address := *request, *request.URL
		out.URL, request = &address, &out
	}
	request.URL.Scheme, request.URL.Host = "http", p.Address
	response, err := p.lines.of(request).RoundTrip(request)
	if err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols {
		_ = response.Body.Close()
		err = fmt.Errorf("the pod answered with the invalid status %03d", response.StatusCode)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	p.worked()
	response.Body = counted(response.Body, p)
	return response, nil
}

// again reports whether the request may be offered to another pod. If the connection could not be made, nothing of it
// was sent, so it may. Afterwards only a request that is safe to repeat and has no body may, because a body may be half
// sent.
func again(request *http.Request, err error) bool {
	if unsent(err) {
		return true
	}
	var timeout net.Error
	late := errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, syscall.ETIMEDOUT) // which is: it vanished
	if request.Body != nil && request.Body != http.NoBody || request.Header.Get("Upgrade") != "" || late {
		return false
	}
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}
