package confine

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"tend.dev/tend/internal/core/source"
)

// none is a machine without routes.
func none() ([]source.Route, error) { return nil, nil }

// TestOwnMachine: this machine is refused by its address, by a name, by a redirect. The server counts the connections.
func TestOwnMachine(t *testing.T) {
	reached := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	_ = server.Listener.Close()
	var err error
	if server.Listener, err = net.Listen("tcp", ":0"); err != nil {
		t.Fatal(err)
	}
	server.Start()
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: Transport(&http.Transport{})}
	defer client.CloseIdleConnections()
	addresses := []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.1.2.3"}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range own {
		addresses = append(addresses, entry.(*net.IPNet).IP.String())
	}
	for _, address := range addresses {
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
	if response, err := free.Get("http://127.0.0.1:" + port); err != nil || reached != 1 {
		t.Errorf("without confinement: %v, reached %d times", err, reached)
	} else {
		response.Body.Close()
	}
}

// TestOwnAddresses: a server on all addresses of this machine also answers at those of its interfaces.
func TestOwnAddresses(t *testing.T) {
	own := []net.Addr{
		&net.IPNet{IP: net.ParseIP("192.0.2.2"), Mask: net.CIDRMask(24, 32)},
		&net.IPNet{IP: net.ParseIP("fd00::2"), Mask: net.CIDRMask(64, 128)},
	}
	var failure error
	tr := newTransport(&http.Transport{}, func() (source.Machine, error) {
		return describe(func() ([]net.Addr, error) { return own, failure }, none)
	})
	for address, refused := range map[string]bool{
		"192.0.2.2:18999": true, "[::ffff:192.0.2.2]:80": true, "[fd00::2]:80": true, "192.0.2.3:80": false,
		"[fd00::3]:80": false,
	} {
		if err := tr.control("tcp", address, nil); errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
	own = append(own, &net.IPNet{IP: net.ParseIP("172.17.0.1"), Mask: net.CIDRMask(16, 32)})
	if err := tr.control("tcp", "172.17.0.1:80", nil); !errors.Is(err, ErrRefused) {
		t.Errorf("an address of a bridge that came later: %v", err)
	}
	if failure = errors.New("no netlink"); tr.control("tcp", "192.0.2.3:80", nil) == nil {
		t.Error("connected although it is not known which addresses are this machine's")
	}
	if tr, known := Transport(&http.Transport{}).(*transport); !known || tr.here == nil {
		t.Error("a transport without the machine's addresses")
	} else if listed, err := tr.here(); err != nil || len(listed.Own) == 0 {
		t.Errorf("addresses of this machine: %v, %v", listed, err)
	}
}

// TestProxy: a proxy may be on this machine, since a person chose it; the target of a request may not.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter,
		r *http.Request) {
		asked = append(asked, r.URL.Host)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	own := func() (source.Machine, error) {
		return source.Machine{Own: []netip.Addr{netip.MustParseAddr("192.0.2.2")}}, nil
	}
	client := &http.Client{Transport: newTransport(&http.Transport{Proxy: http.ProxyURL(at)}, own)}
	defer client.CloseIdleConnections()
	for _, host := range []string{"assets.example", "127.0.0.1", "169.254.169.254", "LOCALHOST", "192.0.2.2"} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+host+"/",
			strings.NewReader("x"))
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
