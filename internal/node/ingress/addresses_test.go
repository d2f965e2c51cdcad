package ingress

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// second returns a header of the PROXY protocol's version 2.
func second(command, family byte, addresses []byte) string {
	out := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), 0x20|command, family)
	return string(append(binary.BigEndian.AppendUint16(out, uint16(len(addresses))), addresses...))
}

func pair(from, to string) []byte {
	return append(netip.MustParseAddr(from).AsSlice(), append(netip.MustParseAddr(to).AsSlice(), 0x13, 0x88, 0, 80)...)
}

// TestWhatABalancerSays: the PROXY protocol in either version, for either address family. An invalid header ends its
// connection before a pod is asked, and affects no other connection.
func TestWhatABalancerSays(t *testing.T) {
	proxy := New(Options{})
	proxy.Update([]Route{{Ingress: shop, Host: "shop.org",
		Pods: []Pod{podOf(t, "p", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.Header.Get("X-Forwarded-For"), " ", r.Header.Get("X-Real-Ip"))
		})}}})
	l, until := listeners(t, ListenOptions{
		HTTP: "127.0.0.1:0", Handler: proxy, Balancers: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	l.Want(true, false)
	f := &front{Proxy: proxy, T: t, url: "http://" + until("it opens", isOpen).Address}
	const v1 = "PROXY TCP4 192.0.2.7 127.0.0.1 5000 80\r\n"
	for name, test := range map[string]struct{ say, want string }{
		"version 1":                 {v1, "192.0.2.7"},
		"version 1, IPv6":           {"PROXY TCP6 2001:db8::7 ::1 5000 80\r\n", "2001:db8::7"},
		"version 1, unknown":        {"PROXY UNKNOWN\r\n", "127.0.0.1"},
		"version 2":                 {second(1, 0x11, pair("192.0.2.7", "127.0.0.1")), "192.0.2.7"},
		"version 2, IPv6":           {second(1, 0x21, pair("2001:db8::7", "::1")), "2001:db8::7"},
		"version 2, with more":      {second(1, 0x11, append(pair("192.0.2.7", "127.0.0.1"), 4, 0, 1, 0)), "192.0.2.7"},
		"version 2, of itself":      {second(0, 0, nil), "127.0.0.1"},
		"none":                      {"", "127.0.0.1"},
		"no address":                {"PROXY TCP4 somebody 127.0.0.1 5000 80\r\n", ""},
		"another family":            {"PROXY TCP4 2001:db8::7 ::1 5000 80\r\n", ""},
		"a port beyond":             {"PROXY TCP4 192.0.2.7 127.0.0.1 70000 80\r\n", ""},
		"a field more":              {"PROXY TCP4 192.0.2.7 127.0.0.1 5000 80 GET\r\n", ""},
		"no end":                    {"PROXY TCP4 " + strings.Repeat("1", 4000) + "\r\n", ""},
		"twice":                     {v1 + v1, ""},
		"an address with a line":    {"PROXY TCP4 192.0.2.7\nX: y 127.0.0.1 5000 80\r\n", ""},
		"version 2, too short":      {second(1, 0x11, []byte{1, 2, 3}), ""},
		"version 2, another family": {second(1, 0x21, pair("192.0.2.7", "127.0.0.1")), ""},
		"version 2, a command":      {second(7, 0x11, pair("192.0.2.7", "127.0.0.1")), ""},
		"version 3": {strings.Replace(second(1, 0x11, pair("192.0.2.7", "127.0.0.1")), "\x21", "\x31", 1),
			""},
	} {
		for _, request := range []string{"GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: shop.org\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"} {
			conn, reader := f.dial(test.say + request)
			if test.want == "" { // else it would count as gone
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			response, err := http.ReadResponse(reader, nil)
			if test.want == "" {
				if err == nil && response.StatusCode != http.StatusBadRequest {
					t.Errorf("%s: %s", name, response.Status)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			text, _ := io.ReadAll(response.Body)
			if want := test.want + " " + test.want; string(text) != want {
				t.Errorf("%s: the pod gets %q, want %q", name, text, want)
			}
		}
	}
}

// TestIPv6: listener, client and pod at IPv6 addresses, and a redirect to one.
func TestIPv6(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	pod := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, " ", r.Header.Get("X-Forwarded-For"))
	})}
	go func() { _ = pod.Serve(listener) }()
	t.Cleanup(func() { pod.Close() })
	proxy := New(Options{})
	routes := []Route{{Ingress: shop, Host: "::1", Pods: []Pod{{Name: "p", Address: listener.Addr().String()}}}}
	proxy.Update(routes)
	l, until := listeners(t, ListenOptions{HTTP: "[::1]:0", Handler: proxy})
	l.Want(true, false)
	f := &front{Proxy: proxy, T: t, url: "http://" + until("it opens", isOpen).Address}
	for _, host := range []string{"[::1]", "[::1]:80"} {
		for _, path := range []string{"/a", "/%61"} {
			_, reader := f.dial("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
			if _, text := f.read(reader, "GET"); text != host+" ::1" {
				t.Errorf("%s at %s: %q", path, host, text)
			}
		}
	}
	routes[0].Secure = true
	proxy.Update(routes)
	conn, _ := f.dial("GET /a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n")
	if response, _ := f.read(bufio.NewReader(conn), "GET"); response.Header.Get("Location") != "https://[::1]/a" {
		t.Errorf("sent to %s", response.Header.Get("Location"))
	}
}
