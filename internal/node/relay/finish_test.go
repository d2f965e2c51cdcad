package relay_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/relay"
)

// TestAnEndLetsRequestsFinish: what a pod is asked is answered whole, a connection that rests between two requests is
// closed, and new ones are taken meanwhile.
func TestAnEndLetsRequestsFinish(t *testing.T) {
	c := newCluster(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer pod.Close()
	go func() {
		for {
			conn, err := pod.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewReader(conn)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					if line == "slow\n" {
						asked <- struct{}{}
						<-answer
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 "+strings.TrimSpace(line)+"\r\n")
				}
			}()
		}
	}()
	far := relay.New(relay.Options{Own: c.own(there),
		May:      func(authority.Machine, string, int, string) error { return nil },
		Endpoint: func(string, int, string) (string, error) { return pod.Addr().String(), nil }})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- far.Run(ctx, listener) }()
	to := target("web", 8080)
	open := func(line string) (net.Conn, *bufio.Reader) {
		conn, err := relay.Open(t.Context(), c.own(here), c.dial(address), to)
		if err == nil {
			_, err = io.WriteString(conn, line)
		}
		if err != nil {
			t.Fatal(err)
		}
		return conn, bufio.NewReader(conn)
	}
	_, rests := open("quick\n")
	if got, err := rests.ReadString('\n'); got != "HTTP/1.1 200 quick\r\n" {
		t.Fatalf("%q, %v", got, err)
	}
	first, slow := open("slow\n")
	<-asked
	end()
	_, raw := open("raw\nraw\n")
	if got, err := raw.ReadString('\n'); got != "HTTP/1.1 200 raw\r\n" {
		t.Errorf("meanwhile, no HTTP: %q, %v", got, err)
	}
	if got, err := raw.ReadString('\n'); got != "HTTP/1.1 200 raw\r\n" {
		t.Errorf("what is not HTTP does not arrive as it was sent: %q, %v", got, err)
	}
	to.HTTP = true
	_, late := open("late\n")
	if got, err := late.ReadString('\n'); got != "HTTP/1.1 200 late\r\n" {
		t.Errorf("meanwhile: %q, %v", got, err)
	}
	if got, err := late.ReadString('\n'); got != "Connection: close\r\n" {
		t.Errorf("its caller may ask on the connection again: %q, %v", got, err)
	}
	second, later := open("slow\n")
	<-asked
	if got, err := rests.ReadString('\n'); err == nil {
		t.Errorf("between two requests: %q", got)
	}
	close(answer)
	for what, reader := range map[string]*bufio.Reader{"under way": slow, "begun meanwhile": later} {
		if got, err := reader.ReadString('\n'); got != "HTTP/1.1 200 slow\r\n" {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	_, _ = first.Close(), second.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("it takes connections after its end")
	}
}
