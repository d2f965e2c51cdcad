package server_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"tend.dev/tend/internal/server"
)

// TestOneAddressLeavesConnections: a client that opens connections and sends nothing leaves room for other clients.
func TestOneAddressLeavesConnections(t *testing.T) {
	const total = 8
	limit := func(o *server.Options) { o.MaxConnections = total }
	endpoint := newWorld(t, limit).http + "/healthz"
	at, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	silent := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	closed := make(chan error, 2*total)
	for range 2 * total {
		conn, err := silent.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(8 * time.Second))
		go func() {
			_, err := conn.Read(make([]byte, 1))
			closed <- err
		}()
	}
	for range 2*total - total/2 {
		if err := <-closed; errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("one address holds more than half of the connections")
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		t.Fatalf("another client: %v", err)
	}
	response.Body.Close()
}

// TestSlowHeadsShutOutNobody: one process of this machine that sends its requests' heads slowly leaves room for the
// others, which have the same address.
func TestSlowHeadsShutOutNobody(t *testing.T) {
	const total = 8
	endpoint := newWorld(t, func(o *server.Options) { o.MaxConnections = total }).http + "/healthz"
	at, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * total {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("GET /healthz HT"))
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		t.Fatalf("another process: %v", err)
	}
	response.Body.Close()
}
