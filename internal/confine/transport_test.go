package confine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestOwnMachine: by its address, by a name, by a redirect. The server counts who came.
func TestOwnMachine(t *testing.T) {
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: Transport(&http.Transport{})}
	defer client.CloseIdleConnections()
	for _, address := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1.2.3"} {
		response, err := client.Get("http://" + net.JoinHostPort(strings.Trim(address, "[]"), port))
		if err == nil {
			response.Body.Close()
		}
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if reached > 0 {
		t.Errorf("the server was reached %d times", reached)
	}
	free := &http.Client{Transport: &http.Transport{}}
	defer free.CloseIdleConnections()
	if response, err := free.Get(server.URL); err != nil || reached != 1 {
		t.Errorf("without confinement: %v, reached %d times", err, reached)
	} else {
		response.Body.Close()
	}
}

// TestProxy: a proxy may be on this machine, since the operator chose it; what is asked of it may not.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Host) }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: Transport(&http.Transport{Proxy: http.ProxyURL(at)})}
	defer client.CloseIdleConnections()
	for _, host := range []string{"assets.example", "127.0.0.1", "169.254.169.254", "LOCALHOST"} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+host+"/", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
		}
		if refused := errors.Is(err, ErrRefused); refused != (host != "assets.example") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if got := strings.Join(asked, " "); got != "assets.example" {
		t.Errorf("the proxy was asked for %q", got)
	}
}
