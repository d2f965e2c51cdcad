package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// listeners runs listeners until the test ends. It returns them, and a function that waits until the plain one is in a
// given state.
func listeners(
	t testing.TB, opts ListenOptions,
) (*Listeners, func(what string, holds func(plain ListenerState) bool) ListenerState) {
	t.Helper()
	changed := make(chan struct{}, 16)
	opts.Changed = func() { changed <- struct{}{} }
	l := NewListeners(opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return l, func(what string, holds func(ListenerState) bool) ListenerState {
		t.Helper()
		limit := time.After(20 * time.Second)
		for {
			if plain, _ := l.States(); holds(plain) {
				return plain
			}
			select {
			case <-changed:
			case <-limit:
				plain, _ := l.States()
				t.Fatalf("in vain: %s: %+v", what, plain)
			}
		}
	}
}

func whoAmI(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, addressOf(r.RemoteAddr)) }

func isOpen(d ListenerState) bool { return d.Open }
func isShut(d ListenerState) bool { return !d.Open }

func TestListenersOpenWhenThereIsSomethingToServe(t *testing.T) {
	l, until := listeners(t, ListenOptions{HTTP: "127.0.0.1:0", Handler: http.HandlerFunc(whoAmI)})
	if plain, secure := l.States(); plain.Open || secure.Open || secure.Wanted {
		t.Errorf("%+v %+v", plain, secure)
	}
	l.Want(true, true)
	address := until("it opens", isOpen).Address
	if got := get(t, address, ""); got != "127.0.0.1" {
		t.Errorf("%q", got)
	}
	if _, secure := l.States(); secure.Wanted {
		t.Error("a listener without an address is wanted")
	}
	l.Want(false, false)
	until("it closes", isShut)
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("it still listens")
	}
}

// TestATakenPortIsReported: an occupied port is reported, and opened once it is free.
func TestATakenPortIsReported(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, until := listeners(t, ListenOptions{HTTP: other.Addr().String(), Handler: http.HandlerFunc(whoAmI)})
	l.Want(true, false)
	holder := fmt.Sprintf("address already in use by ingress.test (pid %d)", os.Getpid())
	if listener := until("it says so",
		func(d ListenerState) bool { return d.Error != "" }); !strings.Contains(listener.Error, holder) {
		t.Errorf("%+v", listener)
	}
	other.Close()
	l.Want(true, false) // retries at once
	if listener := until("it opens", isOpen); listener.Error != "" {
		t.Errorf("%+v", listener)
	}
}

func TestTheAddressThatABalancerSends(t *testing.T) {
	for name, test := range map[string]struct {
		from netip.Prefix
		say  string
		want string
	}{
		"a balancer": {netip.MustParsePrefix("127.0.0.0/8"),
			"PROXY TCP4 192.0.2.7 127.0.0.1 5000 80\r\n", "192.0.2.7"},
		"a balancer that is mute": {netip.MustParsePrefix("127.0.0.0/8"), "", "127.0.0.1"},
		"another host":            {netip.MustParsePrefix("10.0.0.0/8"), "", "127.0.0.1"},
		"another that pretends":   {netip.MustParsePrefix("10.0.0.0/8"), "PROXY TCP4 192.0.2.7 127.0.0.1 5000 80\r\n", "400"},
	} {
		l, until := listeners(t, ListenOptions{HTTP: "127.0.0.1:0", Handler: http.HandlerFunc(whoAmI),
			Balancers: []netip.Prefix{test.from}})
		l.Want(true, false)
		if got := get(t, until("it opens", isOpen).Address, test.say); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// get sends a request to an address, after the bytes in before; for an answer other than 200 it returns the code.
func get(t *testing.T, address, before string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, before+"GET / HTTP/1.1\r\nHost: shop.org\r\nConnection: close\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Sprint(response.StatusCode)
	}
	return string(text)
}
