package prober

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"tend.dev/tend/api"
)

const (
	// userAgent is the User-Agent, unless http_headers set another.
	userAgent = "tend-probe"
	// maxHeaders bounds the headers of an answer that are read; its body isn't bounded by it.
	maxHeaders = 64 << 10
)

// connect passes when a connection is accepted.
func connect(ctx context.Context, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return timeoutOr(ctx, plain(err))
	}
	return conn.Close()
}

// errUnanswered is the error of a connection that the program ended.
var errUnanswered = errors.New("the program closed the connection without an answer")

// closedIdle is net/http's error, which has no name, if a new connection ends before the request is sent.
const closedIdle = "server closed idle connection"

// plain returns an error of the network in plain words, without the addresses of both ends.
func plain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), closedIdle) {
		return errUnanswered
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// timeoutOr returns the context's error if it has ended: dialers have their own errors for that.
func timeoutOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.DeadlineExceeded // the dialer's timer runs before the context's
	}
	return err
}

// web makes HTTP attempts: each on its own connection, straight to the container, whatever proxy the node uses.
type web struct{ client *http.Client }

// addressKey is the context key of the address an HTTP attempt connects to: the server sees the request's own host.
type addressKey struct{}

func newWeb() *web {
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, _ := ctx.Value(addressKey{}).(string)
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, address)
	}
	return &web{client: &http.Client{
		Transport: &http.Transport{
			DialContext: dial, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeaders,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get passes on a status of 200 to 399.
func (w *web) get(ctx context.Context, address string, probe api.HTTPGet) error {
	request, err := newRequest(context.WithValue(ctx, addressKey{}, address), address, probe)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		if err = timeoutOr(ctx, err); errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return fmt.Errorf("GET :%d%s: %w", probe.Port, probe.Path, plain(err))
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 399 {
		return fmt.Errorf("GET :%d%s answered %d%s", probe.Port, probe.Path, response.StatusCode, firstLine(response.Body))
	}
	return nil
}

// maxAnswer bounds how much of the answer to a failed attempt is read.
const maxAnswer = 200

// firstLine returns the first line of an answer in quotes; empty if it has none, or it is longer than what is read.
func firstLine(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	line, _, _ := strings.Cut(strings.TrimSpace(string(read)), "\n")
	line = strings.TrimSpace(line)
	if line == "" || len(line) > maxAnswer || !utf8.ValidString(line) || strings.HasPrefix(line, "<") {
		return ""
	}
	return " '" + line + "'"
}

// newRequest uses the host from http_headers, which over TLS is also the one the certificate must be for.
func newRequest(ctx context.Context, address string, probe api.HTTPGet) (*http.Request, error) {
	headers := http.Header{"User-Agent": {userAgent}}
	for name, value := range probe.HTTPHeaders {
		headers.Set(name, value)
	}
	host := address
	if named := headers.Get("Host"); named != "" {
		host = named
		headers.Del("Host")
	}
	scheme := probe.Scheme
	scheme = cmp.Or(scheme, "http")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+probe.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Header = headers
	return request, nil
}
