package ingress

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"golang.org/x/sys/unix"
)

// TestANodeVanishes with a request in flight that it never acknowledges: another pod answers it, long before the kernel
// gives the connection up.
func TestANodeVanishes(t *testing.T) {
	there := newFar(t, podOf(t, "p", answer("p")), podOf(t, "q", answer("q")))
	f := newFrontWith(t, Options{Relayed: there.relayed})
	f.pods.resends = 2 // 0.6 s
	between, vanish := vanishing(t, there.address)
	p := there.pod("p")
	p.Address = between
	f.serve(p, there.pod("q"))
	seen := map[string]int{}
	for range 4 {
		_, text := f.do("GET", "/", nil)
		seen[text]++
	}
	if seen["p"] != 2 || seen["q"] != 2 {
		t.Fatal("answered by", seen)
	}
	vanish()
	for range 3 {
		if response, text := f.do("GET", "/", nil); text != "q" {
			t.Errorf("%d %q", response.StatusCode, text)
		}
	}
	if failures := there.opened.Load(); failures != 2 {
		t.Errorf("%d connections to pods", failures)
	}
}

func answer(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// vanishing forwards connections to an address until vanish is called. Then the kernel drops whatever arrives for them,
// and nobody listens any more.
func vanishing(t *testing.T, to string) (address string, vanish func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan *net.TCPConn, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			accepted <- conn.(*net.TCPConn)
			out, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(out, conn); _ = out.Close() }()
			go func() { _, _ = io.Copy(conn, out) }()
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String(), func() {
		_ = listener.Close()
		drop := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}}
		for len(accepted) > 0 {
			raw, err := (<-accepted).SyscallConn()
			if err == nil {
				var failed error
				err = raw.Control(func(fd uintptr) {
					failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &drop)
				})
				if err == nil {
					err = failed
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
