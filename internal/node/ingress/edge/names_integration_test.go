//go:build integration

package edge

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/certmagic"
	"github.com/miekg/dns"

	"tend.dev/tend/internal/node/ingress"
	"tend.dev/tend/internal/node/ingress/acmetest"
	"tend.dev/tend/internal/node/ingress/certs"
)

const (
	updateSecret = "c2VjcmV0Ly9vZi90aGUvdGVzdA=="
	updateKey    = "# as tsig-keygen writes it\nkey \"tend\" {\n\talgorithm hmac-sha256;\n\tsecret \"" +
		updateSecret + "\";\n};\n"
)

// updated runs a name server that accepts signed dynamic updates of TXT records, and passes them on to the test's DNS
// server.
func updated(t *testing.T, p *acmetest.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: listener, TsigSecret: map[string]string{"tend.": updateSecret},
		MsgAcceptFunc: func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept },
		Handler: dns.HandlerFunc(func(w dns.ResponseWriter, request *dns.Msg) {
			answer := new(dns.Msg).SetReply(request)
			if request.Opcode != dns.OpcodeUpdate || request.IsTsig() == nil || w.TsigStatus() != nil ||
				update(t.Context(), p, request.Ns) != nil {
				answer.Rcode = dns.RcodeRefused
			}
			if signed := request.IsTsig(); signed != nil {
				answer.SetTsig(signed.Hdr.Name, signed.Algorithm, 300, int64(signed.TimeSigned))
			}
			_ = w.WriteMsg(answer)
		})}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown(); <-done })
	return listener.Addr().String()
}

func update(ctx context.Context, p *acmetest.Server, records []dns.RR) error {
	for _, record := range records {
		about, what := map[string]any{"host": record.Header().Name}, "clear-txt"
		if text, ok := record.(*dns.TXT); ok && text.Hdr.Class == dns.ClassINET {
			what, about["value"] = "set-txt", strings.Join(text.Txt, "")
		}
		if err := p.Answer(ctx, what, about); err != nil {
			return err
		}
	}
	return nil
}

// zoned runs a resolver in front of the test's DNS server, which doesn't support zones: everything is in the zone test.
func zoned(t *testing.T, p *acmetest.Server) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		asked := question.Question[0]
		if asked.Qtype == dns.TypeSOA && asked.Name == "test." {
			answer.Answer = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: "test.", Rrtype: dns.TypeSOA, Class: dns.ClassINET},
				Ns: "ns.test.", Mbox: "ops.test."}}
		}
		if forwarded, err := dns.Exchange(question, p.DNS); err == nil && asked.Qtype != dns.TypeSOA {
			answer = forwarded
		}
		_ = w.WriteMsg(answer)
	})}
	done := make(chan error, 1)
	go func() { done <- server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown(); <-done })
	return conn.LocalAddr().String()
}

// TestAWildcardByDNS: with a name server that takes signed updates, a wildcard's certificate is obtained like any
// other.
func TestAWildcardByDNS(t *testing.T) {
	httpPort, tlsPort := acmetest.Port(t), acmetest.Port(t)
	p := acmetest.Start(t, httpPort, tlsPort)
	key := filepath.Join(t.TempDir(), "dns.key")
	if err := os.WriteFile(key, []byte(updateKey), 0o600); err != nil {
		t.Fatal(err)
	}
	provider, err := DynamicDNS(updated(t, p), key)
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteWith(t, p, Options{
		HTTP: fmt.Sprintf("127.0.0.1:%d", httpPort), HTTPS: fmt.Sprintf("127.0.0.1:%d", tlsPort), Directory: p.Directory,
		Storage: &certmagic.FileStorage{Path: t.TempDir()}, DNS: provider, Resolver: zoned(t, p),
	}, tlsPort)
	s.Update(
		[]ingress.Route{{Host: "*.apps.test", Secure: true, Pods: s.pods}},
		[]certs.Policy{{Host: "*.apps.test", Email: "ops@example.org"}},
	)
	s.until("*.apps.test", func(state certs.State) bool {
		if failed(state) {
			t.Fatal(state.Error)
		}
		return there(state)
	})
	if got := s.get(p.Issued, "one.apps.test"); got != "hello one.apps.test" {
		t.Errorf("%q", got)
	}
}

// TestANameThatResolvesNowhere: the state has the authority's message, and other names are served.
func TestANameThatResolvesNowhere(t *testing.T) {
	httpPort, tlsPort := acmetest.Port(t), acmetest.Port(t)
	p := acmetest.Start(t, httpPort, tlsPort)
	if err := p.Answer(t.Context(), "set-servfail", map[string]any{"host": "nowhere.test"}); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, p, p.Directory, httpPort, tlsPort, &certmagic.FileStorage{Path: t.TempDir()})
	s.host("nowhere.test", "shop.test")
	if state := s.until("nowhere.test", failed); !strings.Contains(state.Error, "nowhere.test") ||
		!there(s.until("shop.test", there)) {
		t.Errorf("%s", state.Error)
	} else {
		t.Log(state.Error)
	}
}
