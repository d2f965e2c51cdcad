package ingress

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tend.dev/tend/internal/node/relay"
)

// TestANodeThatStandsStill takes connections, and answers none: another pod is asked soon, with any request, since
// nothing of it was sent. Without another pod the way has all its time.
func TestANodeThatStandsStill(t *testing.T) {
	const patience = 5 * time.Second // the relay's own
	for name, test := range map[string]struct {
		pods, status int
		want         time.Duration
	}{
		"another pod": {2, http.StatusOK, hurriedTime}, "no other pod": {1, http.StatusGatewayTimeout, patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				still := func(ctx context.Context, conn net.Conn) (*tls.Conn, error) {
					defer conn.Close()
					ctx, cancel := context.WithTimeout(ctx, patience)
					defer cancel()
					<-ctx.Done()
					return nil, ctx.Err()
				}
				piped := func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					go answerOnce(there)
					return here, nil
				}
				p := New(Options{Relayed: func(context.Context, net.Conn, relay.Target) (*tls.Conn, error) { return nil, nil }})
				pods := []Pod{{Name: "p", Address: "127.0.0.1:1", Via: relay.Target{Node: "n2"}},
					{Name: "q", Address: "127.0.0.1:2", Via: relay.Target{Node: "n3"}}}[:test.pods]
				p.Update([]Route{{Host: "shop.org", Path: "/", Pods: pods}})
				for _, b := range p.routing.Load().backends {
					for _, each := range b.pods {
						each.lines.plain.DialContext, each.lines.plain.DisableKeepAlives = piped, true
						if each.Name == "p" {
							each.lines.plain.DialContext = opening(still).after(piped)
						}
					}
				}
				began := time.Now()
				recorder := httptest.NewRecorder()
				p.ServeHTTP(recorder, httptest.NewRequest("POST", "http://shop.org/", strings.NewReader("once")))
				if took := time.Since(began); recorder.Code != test.status || took != test.want {
					t.Errorf("%d after %s, want %d after %s", recorder.Code, took, test.status, test.want)
				}
			})
		})
	}
}

// answerOnce answers one request with 200, and ends the connection.
func answerOnce(conn net.Conn) {
	defer conn.Close()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err == nil {
		_, _ = io.Copy(io.Discard, request.Body)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	}
}
