package ingress

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestAnswersThatCannotBePassedOn: the client gets an error that says so, and the pod no longer counts the request: its
// drain waits for nothing.
func TestAnswersThatCannotBePassedOn(t *testing.T) {
	for name, answer := range map[string]string{
		"an upgrade not asked for": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		"an upgrade to no name":    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: \x80\r\n\r\n",
		"no status at all":         "HTTP/1.1 000 Odd\r\nContent-Length: 2\r\n\r\nhi",
		"a status below all":       "HTTP/1.1 042 Odd\r\nContent-Length: 2\r\n\r\nhi",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t)
			ended := make(chan struct{}, 8)
			f.serve(script(t, func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					fmt.Fprint(conn, answer)
				}
				_, _ = conn.Read(make([]byte, 1)) // until the proxy closes it
				ended <- struct{}{}
			}))
			response, text := f.do("POST", "/", nil)
			if response.StatusCode != http.StatusBadGateway {
				t.Errorf("%s: %s", response.Status, text)
			}
			<-ended
			pod := f.pods.named("script")
			f.Update(nil)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			for _, p := range pod {
				if err := p.drained(ctx); err != nil {
					t.Errorf("%d requests are still counted: %v", p.active.Load(), err)
				}
			}
		})
	}
}

// TestUpgradesAreCounted with the status they were answered with.
func TestUpgradesAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newFrontWith(t, Options{Registry: registry})
	f.serve(script(t, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		}
	}))
	conn, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	if response, err := http.ReadResponse(reader, nil); err != nil ||
		response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response, err)
	}
	conn.Close()
	const want = `code="101" ingress="prod/shop" `
	for limit := time.Now().Add(20 * time.Second); gathered(t, registry,
		"tend_ingress_requests_total")[want] != 1; runtime.Gosched() {
		if time.Now().After(limit) {
			t.Fatalf("%v", gathered(t, registry, "tend_ingress_requests_total"))
		}
	}
}

// TestARequestThatOutlivesItsIngress leaves nothing behind in the metrics.
func TestARequestThatOutlivesItsIngress(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := newFrontWith(t, Options{Registry: registry})
	for method, more := range map[string]string{"GET": "", "POST": "Content-Length: 0\r\n"} {
		inside, hold := make(chan struct{}), make(chan struct{})
		f.serve(podOf(t, "p", func(http.ResponseWriter, *http.Request) { close(inside); <-hold }))
		conn, reader := f.dial(method + " / HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n" + more + "\r\n")
		<-inside
		f.Update(nil)
		close(hold)
		f.read(reader, method)
		_, _ = reader.ReadByte() // until it is closed: that is after it was counted
		conn.Close()
	}
	if got := gathered(t, registry, "tend_ingress_requests_total"); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// TestNoUpgradeToHTTP2: its requests would bypass the routes, with any claim about their client.
func TestNoUpgradeToHTTP2(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q %q %q", r.Header.Get("Upgrade"), r.Header.Get("Connection"), r.Header.Get("HTTP2-Settings"))
	}))
	for upgrade, want := range map[string]string{"h2c": `"" "" ""`, "H2C": `"" "" ""`, "websocket, h2c": `"" "" ""`,
		"websocket": `"websocket" "Upgrade" ""`} {
		for _, listed := range []string{"Upgrade", "Upgrade, HTTP2-Settings"} {
			_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: " + listed + "\r\nUpgrade: " + upgrade +
				"\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n")
			if _, got := f.read(reader, "GET"); got != want {
				t.Errorf("%s, %s: the pod gets %s, want %s", upgrade, listed, got, want)
			}
		}
	}
}
