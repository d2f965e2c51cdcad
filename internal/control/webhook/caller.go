package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tend.dev/tend/internal/core/webhook"
	"tend.dev/tend/internal/platform/confine"
)

const (
	// maxRead bounds how much of an answer is read; its content is not used.
	maxRead      = 64 << 10
	maxRedirects = 3
)

// Caller makes calls. Safe for concurrent use.
type Caller struct{ client, confined *http.Client }

// New returns a Caller that uses the proxies of the server's environment.
func New() *Caller {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConns: 64, MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second,
		TLSHandshakeTimeout: webhook.AttemptTime, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
	return &Caller{
		client:   &http.Client{Transport: transport, CheckRedirect: sameAgain},
		confined: &http.Client{Transport: confine.Transport(transport), CheckRedirect: sameAgain},
	}
}

// Close frees idle connections.
func (c *Caller) Close() {
	c.client.CloseIdleConnections()
	c.confined.CloseIdleConnections()
}

// Call makes one attempt. It ends with ctx.
func (c *Caller) Call(ctx context.Context, r webhook.Request) webhook.Answer {
	call, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return webhook.Answer{Final: true, Err: shown(r, err)}
	}
	for _, field := range r.Header {
		call.Header.Set(field.Name, field.Value)
	}
	if host := call.Header.Get("Host"); host != "" {
		call.Host = host
	}
	client := c.client
	if r.Confined {
		client = c.confined
	}
	response, err := client.Do(call)
	if err != nil {
		return webhook.Answer{Final: errors.Is(err, confine.ErrRefused), Err: shown(r, err)}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxRead))
	return webhook.Answer{Status: response.StatusCode, After: retryAfter(response.Header.Get("Retry-After"))}
}

// retryAfter returns what a Retry-After asks for in seconds, at most an hour; 0 for a date.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Hour)
}

// sameAgain follows a redirect that keeps method, body, scheme and host.
func sameAgain(next *http.Request, via []*http.Request) error {
	first := via[0]
	if next.Method != first.Method || next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme ||
		len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// shown returns an error that is safe to report: of the address it names at most the receiver.
func shown(r webhook.Request, err error) error {
	return errors.New(r.Blot("call " + r.Receiver() + ": " + confine.Advised(plain(err)).Error()))
}

// plain removes the address from an error.
func plain(err error) error {
	var wrapped *url.Error
	if !errors.As(err, &wrapped) {
		return err
	}
	if wrapped.Timeout() {
		return errors.New("no answer in time")
	}
	return wrapped.Err
}
