//go:build integration

package edge

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/caddyserver/certmagic"
	"github.com/libdns/libdns"
	"github.com/miekg/dns"

	"tend.dev/tend/internal/ingress"
	"tend.dev/tend/internal/ingress/certs"
)

// zones is a DNS provider over the test's DNS server.
type zones struct{ *pebble }

// AppendRecords implements certmagic.DNSProvider.
func (z zones) AppendRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	for _, record := range records {
		about := map[string]string{"host": libdns.AbsoluteName(record.RR().Name, zone), "value": record.RR().Data}
		if err := z.tell(ctx, "set-txt", about); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// DeleteRecords implements certmagic.DNSProvider.
func (z zones) DeleteRecords(ctx context.Context, zone string, records []libdns.Record) ([]libdns.Record, error) {
	for _, record := range records {
		if err := z.tell(ctx, "clear-txt", map[string]string{"host": libdns.AbsoluteName(record.RR().Name, zone)}); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// zoned returns a resolver before the test's DNS server, which knows of no zones: all is the zone test.
func (p *pebble) zoned(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		asked := question.Question[0]
		if asked.Qtype == dns.TypeSOA && asked.Name == "test." {
			answer.Answer = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: "test.", Rrtype: dns.TypeSOA, Class: dns.ClassINET}, Ns: "ns.test.", Mbox: "ops.test."}}
		}
		if forwarded, err := dns.Exchange(question, p.dns); err == nil && asked.Qtype != dns.TypeSOA {
			answer = forwarded
		}
		_ = w.WriteMsg(answer)
	})}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown(); <-done })
	return conn.LocalAddr().String()
}

// TestAWildcardByDNS: with a DNS provider, a wildcard's certificate is obtained like any other.
func TestAWildcardByDNS(t *testing.T) {
	httpPort, tlsPort := freePort(t), freePort(t)
	p := startPebble(t, httpPort, tlsPort)
	s := newSiteWith(t, p, Options{
		HTTP: fmt.Sprintf("127.0.0.1:%d", httpPort), HTTPS: fmt.Sprintf("127.0.0.1:%d", tlsPort), Directory: p.directory,
		Storage: &certmagic.FileStorage{Path: t.TempDir()}, DNS: zones{p}, Resolver: p.zoned(t),
	}, tlsPort)
	s.Update(
		[]ingress.Route{{Host: "*.apps.test", Secure: true, Pods: s.pods}}, []certs.Policy{{Host: "*.apps.test", Email: "ops@example.org"}},
	)
	s.until("*.apps.test", func(state certs.State) bool {
		if failed(state) {
			t.Fatal(state.Error)
		}
		return there(state)
	})
	if got := s.get(p.issued, "one.apps.test"); got != "hello one.apps.test" {
		t.Errorf("%q", got)
	}
}

// TestANameThatResolvesNowhere: the state has the authority's message, and other names are served.
func TestANameThatResolvesNowhere(t *testing.T) {
	httpPort, tlsPort := freePort(t), freePort(t)
	p := startPebble(t, httpPort, tlsPort)
	if err := p.tell(t.Context(), "set-servfail", map[string]string{"host": "nowhere.test"}); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, p, p.directory, httpPort, tlsPort, &certmagic.FileStorage{Path: t.TempDir()})
	s.host("nowhere.test", "shop.test")
	if state := s.until("nowhere.test", failed); !strings.Contains(state.Error, "nowhere.test") || !there(s.until("shop.test", there)) {
		t.Errorf("%s", state.Error)
	} else {
		t.Log(state.Error)
	}
}
