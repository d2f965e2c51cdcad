package ingress

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAClientThatReadsNothing is disconnected, and the pod's connection closed.
func TestAClientThatReadsNothing(t *testing.T) {
	proxy := New(Options{})
	l := NewListeners(ListenOptions{HTTP: "127.0.0.1:0", Handler: proxy})
	l.plain.stall = 300 * time.Millisecond
	opened := make(chan struct{}, 8)
	l.plain.changed = func() { opened <- struct{}{} }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	defer func() { cancel(); <-done }()
	l.Want(true, false)
	<-opened
	listener, _ := l.States()
	f := &front{Proxy: proxy, T: t, url: "http://" + listener.Address}
	left := make(chan struct{})
	f.serve(script(t, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for piece := fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat("x", 64<<10)); ; {
			if _, err := fmt.Fprint(conn, piece); err != nil {
				close(left)
				return
			}
		}
	}))
	f.dial("GET / HTTP/1.1\r\nHost: shop.org\r\n\r\n")
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("its pod's connection is kept")
	}
}
