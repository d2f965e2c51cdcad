package ingress

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// errNoPod says that a route has no ready pod, or that each of them was tried.
var errNoPod = errors.New("no pod is ready")

// maxAnswerHead bounds the head of a pod's answer.
const maxAnswerHead = 1 << 20

// maxTries bounds how many pods one request is offered to.
const maxTries = 3

// spread is the transport below the reverse proxy: it picks the pod, and offers a request to another one where the first
// did not get it.
type spread struct {
	plain http.RoundTripper // HTTP/1.1
	h2c   http.RoundTripper // HTTP/2 without TLS, which gRPC needs
	now   func() time.Time
	retry time.Duration
}

// dialer makes the connections to pods.
var dialer = &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}

// newSpread makes the transports. Connections to pods are kept and used again.
func newSpread(now func() time.Time, retry, answer time.Duration) *spread {
	plain := &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConns: 4096, MaxIdleConnsPerHost: 256, IdleConnTimeout: 60 * time.Second,
		DisableCompression: true, ExpectContinueTimeout: time.Second, ResponseHeaderTimeout: answer, MaxResponseHeaderBytes: maxAnswerHead,
	}
	h2c := &http.Transport{
		DialContext: dialer.DialContext, IdleConnTimeout: 60 * time.Second, DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHead,
		Protocols: new(http.Protocols),
	}
	h2c.Protocols.SetUnencryptedHTTP2(true)
	return &spread{plain: plain, h2c: h2c, now: now, retry: retry}
}

// retryFor is how long a request that no pod took is offered again: what listens nowhere yet may be about to.
const retryFor = 2 * time.Second

// RoundTrip implements http.RoundTripper. The request carries its exchange in its context.
func (s *spread) RoundTrip(request *http.Request) (*http.Response, error) {
	x := exchangeOf(request.Context())
	if x.body != nil && request.Body != nil {
		x.body.trailer = request.Trailer
		request.Body = io.NopCloser(request.Body) // a transport closes it, also where it sent none of it
	}
	until, pause := s.now().Add(s.retry), 20*time.Millisecond
	for {
		response, err := s.round(request, x)
		if err == nil || !unsent(err) || s.now().Add(pause).After(until) || request.Context().Err() != nil {
			return response, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-request.Context().Done():
		}
		timer.Stop()
		pause = min(2*pause, 200*time.Millisecond)
		x.look()
	}
}

// round offers the request to one pod after another.
func (s *spread) round(request *http.Request, x *exchange) (*http.Response, error) {
	var tried []*pod
	var last error = errNoPod
	for range maxTries {
		p := x.take(tried, s.now())
		if p == nil {
			break
		}
		tried = append(tried, p)
		response, err := s.offer(request, p)
		if err == nil {
			x.pod, x.answer = p, response.Body
			return response, nil
		}
		last = err
		if request.Context().Err() != nil || x.body.broken() {
			return nil, err // the client left, or its body did not come: no fault of the pod's
		}
		x.backend.failed(p, s.now())
		if !again(request, err) {
			break
		}
	}
	return nil, last
}

// unsent says whether nothing of a request was sent: the connection could not be made, or there was no pod to make it to.
func unsent(err error) bool {
	var op *net.OpError
	return errors.Is(err, errNoPod) || errors.As(err, &op) && op.Op == "dial"
}

// offer sends the request to one pod, which has counted it in and does so until the answer's body is closed.
func (s *spread) offer(request *http.Request, p *pod) (*http.Response, error) {
	out := *request
	address := *request.URL
	address.Scheme, address.Host = "http", p.Address
	out.URL = &address
	transport := s.plain
	if isGRPC(request) {
		transport = s.h2c
	}
	response, err := transport.RoundTrip(&out)
	if err == nil && response.StatusCode < 200 && response.StatusCode != http.StatusSwitchingProtocols {
		_ = response.Body.Close()
		err = fmt.Errorf("the pod answered with the status %03d, which there is none of", response.StatusCode)
	}
	if err != nil {
		p.end()
		return nil, err
	}
	p.worked()
	response.Body = counted(response.Body, p)
	return response, nil
}

func isGRPC(request *http.Request) bool {
	return request.ProtoMajor == 2 && strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc")
}

// again says whether the request may be offered to another pod: none of it was sent where the connection could not be
// made; afterwards only what may safely be done twice, and has no body that may be half gone.
func again(request *http.Request, err error) bool {
	if unsent(err) {
		return true
	}
	var timeout net.Error
	if request.Body != nil && request.Body != http.NoBody || request.Header.Get("Upgrade") != "" ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return false
	}
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}
