package ingress

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// script returns a pod whose connections are served by hand.
func script(t *testing.T, serve func(conn net.Conn)) Pod {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return Pod{Name: "script", Address: listener.Addr().String()}
}

// TestUnrequestedData: data that a pod sends after an answer never becomes the answer of another client's request.
func TestUnrequestedData(t *testing.T) {
	f := newFront(t)
	read, said := make(chan struct{}), make(chan struct{})
	f.serve(script(t, func(conn net.Conn) {
		for reader := bufio.NewReader(conn); ; {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			if request.Method == http.MethodGet {
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
				continue
			}
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n")
			<-read
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhostile") // a body, though it was a HEAD
			said <- struct{}{}
		}
	}))
	for range 3 {
		_, attacker := f.dial("HEAD / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		f.read(attacker, "HEAD")
		read <- struct{}{}
		<-said
		_, victim := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		if _, text := f.read(victim, "GET"); text != "good" {
			t.Fatalf("another's words came: %q", text)
		}
	}
}

// TestARequestThatEndsConnections: it isn't tried on each kept connection.
func TestARequestThatEndsConnections(t *testing.T) {
	f := newFront(t)
	var deaths atomic.Int64
	const kept = 20
	inside, hold := make(chan struct{}, kept), make(chan struct{})
	f.serve(script(t, func(conn net.Conn) {
		for reader := bufio.NewReader(conn); ; {
			request, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			if request.URL.Path == "/die" {
				deaths.Add(1)
				return
			}
			inside <- struct{}{}
			<-hold
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	}))
	var readers []*bufio.Reader
	for range kept {
		_, reader := f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
		readers = append(readers, reader)
	}
	for range kept {
		<-inside
	}
	close(hold)
	for _, reader := range readers {
		f.read(reader, "GET")
	}
	_, reader := f.dial("GET /die HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	if response, _ := f.read(reader, "GET"); response.StatusCode != http.StatusBadGateway {
		t.Errorf("it is answered with %s", response.Status)
	}
	if got := deaths.Load(); got > 4 {
		t.Errorf("it was sent %d times", got)
	}
}
