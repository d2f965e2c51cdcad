package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestUpgradedConnections(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, _ *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = both.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = both.Flush()
		line, _ := both.ReadString('\n')
		_, _ = both.WriteString("echo " + line)
		_ = both.Flush()
	}))
	at, _ := url.Parse(f.url)
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /ws HTTP/1.1\r\nHost: shop.org\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", response, err)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := reader.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("%q %v", line, err)
	}
}

// TestEventsComeAtOnce: an answer without an end arrives line by line.
func TestEventsComeAtOnce(t *testing.T) {
	f := newFront(t)
	next := make(chan struct{})
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 0; ; n++ {
			fmt.Fprintf(w, "data: %d\n\n", n)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next: // only once the client has seen it
			case <-r.Context().Done():
				return
			}
		}
	}))
	request, _ := http.NewRequestWithContext(t.Context(), "GET", f.url, nil)
	request.Host = "shop.org"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reader := bufio.NewReader(response.Body)
	for n := range 5 {
		line, err := reader.ReadString('\n')
		if line != fmt.Sprintf("data: %d\n", n) {
			t.Fatalf("%q %v", line, err)
		}
		_, _ = reader.ReadString('\n')
		next <- struct{}{}
	}
}

// TestGRPCForm: HTTP/2 without TLS through and through, with trailers.
func TestGRPCForm(t *testing.T) {
	f := newFront(t)
	f.serve(podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		sent, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s", r.Proto, sent)
		w.Header().Set("Grpc-Status", "0")
	}))
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	request, _ := http.NewRequestWithContext(t.Context(), "POST", f.url+"/svc/Call", strings.NewReader("ping"))
	request.Host = "shop.org"
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if string(text) != "HTTP/2.0 ping" || response.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("%s, trailers %v", text, response.Trailer)
	}
}

// TestNoRequestIsLostInAHandOver: the table changes over and over under load, a pod is drained before it goes, and
// every request is answered.
func TestNoRequestIsLostInAHandOver(t *testing.T) {
	f := newFront(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := podOf(t, "p0", says("0"))
	f.serve(first)
	var clients sync.WaitGroup
	var served atomic.Int64
	for range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if response, _ := f.do("POST", "/", strings.NewReader("body")); response.StatusCode != 200 {
					f.Errorf("lost: %d", response.StatusCode)
					return
				}
				served.Add(1)
			}
		})
	}
	before, name := first, "p0"
	for n := range 20 {
		server := httptest.NewServer(says("next"))
		defer server.Close()
		next := Pod{Name: fmt.Sprintf("p%d", n+1), Address: server.Listener.Addr().String()}
		f.serve(before, next)
		f.serve(next)
		if err := f.Drained(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		for goal := served.Load() + 10; served.Load() < goal && !f.Failed(); {
			_, _ = f.do("GET", "/", nil)
		}
		before, name = next, next.Name
	}
	cancel()
	clients.Wait()
}

func TestDrainingWaitsForTheLastRequest(t *testing.T) {
	f := newFront(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	f.serve(podOf(t, "slow", func(http.ResponseWriter, *http.Request) { close(inside); <-leave }))
	done := make(chan struct{})
	go func() { defer close(done); f.do("GET", "/", nil) }()
	<-inside
	f.serve()
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := f.Drained(short, "slow"); err == nil {
		t.Error("it counts as drained while it works")
	}
	close(leave)
	<-done
	if err := f.Drained(t.Context(), "slow"); err != nil {
		t.Error(err)
	}
	if len(f.pods.named("slow")) > 0 {
		f.serve()
		if left := f.pods.named("slow"); len(left) > 0 {
			t.Error("it is never forgotten")
		}
	}
}

func TestRoundRobinGoesOnOverTables(t *testing.T) {
	f := newFront(t)
	a, b := podOf(t, "a", says("a")), podOf(t, "b", says("b"))
	var got []string
	for range 6 {
		f.serve(a, b)
		_, text := f.do("GET", "/", nil)
		got = append(got, text)
	}
	if want := []string{"a", "b", "a", "b", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
