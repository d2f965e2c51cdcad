package ingress

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
)

// TestASocketThatIsKeptOpen: a client that connects between two servers waits for the second, and is not refused.
func TestASocketThatIsKeptOpen(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	listener.Close()
	proxy := New(Options{Hold: -1})
	serve := func() (stop func()) {
		changed := make(chan struct{}, 16)
		l := NewListeners(ListenOptions{
			HTTP: address, HTTPS: "127.0.0.1:0", Handler: proxy, Sockets: []*os.File{socket}, Changed: func() { changed <- struct{}{} },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		l.Want(false, false) // nothing to serve: the socket is open all the same
		for plain, _ := l.States(); !plain.Open; plain, _ = l.States() {
			<-changed
		}
		if _, secure := l.States(); secure.Wanted {
			t.Error("another listener is wanted")
		}
		return func() { cancel(); <-done }
	}
	stop := serve()
	if got := get(t, address, ""); got != "404" {
		t.Errorf("no pod serves the host: %q", got)
	}
	stop()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, plainGet)
	proxy.Update([]Route{{Ingress: shop, Host: "shop.org", Pods: []Pod{podOf(t, "p", says("hello"))}}})
	defer serve()()
	if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || response.StatusCode != 200 {
		t.Errorf("who waited: %v %v", response, err)
	}
}

func TestWhichSocketFits(t *testing.T) {
	for _, test := range []struct {
		asked, at string
		want      bool
	}{
		{":80", "[::]:80", true}, {":80", "0.0.0.0:80", true}, {":80", "127.0.0.1:80", true}, {":80", "[::]:443", false},
		{"0.0.0.0:80", "[::]:80", true}, {"127.0.0.1:80", "[::]:80", false}, {"127.0.0.1:80", "127.0.0.1:80", true}, {"off", "[::]:80", false},
	} {
		if got := fits(test.asked, test.at); got != test.want {
			t.Errorf("%s at %s: %v", test.asked, test.at, got)
		}
	}
}

func TestSocketsOfAnotherProcess(t *testing.T) {
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "2")
	t.Setenv("LISTEN_FDNAMES", "a:b")
	if got := Inherited(); len(got) > 0 {
		t.Errorf("%v", got)
	}
	if _, left := os.LookupEnv("LISTEN_FDS"); left {
		t.Error("children know of them")
	}
}
