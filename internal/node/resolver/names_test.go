package resolver

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"tend.dev/tend/api/node"
)

// TestUnknownIsNotAbsent: while the control plane doesn't answer, no name of a workload is denied, also by the
// machine's name servers; names that no workload has are answered.
func TestUnknownIsNotAbsent(t *testing.T) {
	w := &world{now: time.Unix(0, 0), away: true}
	r := newResolver(t, w, "nameserver 127.0.0.1\n")
	r.Upstream = upstream(t)
	if err := r.Listen(netip.MustParseAddr("127.0.0.2")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"db.prod.": "SERVFAIL", "db.prod.tend.": "SERVFAIL",
		"shop.dev.": "203.0.113.1", "example.org.": "203.0.113.1", "absent.org.": "NXDOMAIN"} {
		if got := query(t, r, "udp", name, dns.TypeA); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	w.set(func() {
		w.away, w.known = false, map[string][]string{"db.prod": {"10.80.0.2"}, "db.prod.tend": {"10.80.0.2"}}
		w.now = w.now.Add(fresh)
	})
	for _, name := range []string{"db.prod.", "db.prod.tend."} {
		if got := query(t, r, "udp", name, dns.TypeA); got != "10.80.0.2" {
			t.Errorf("%s, once it answers: %q", name, got)
		}
	}
	w.set(func() { w.asked = 0 })
	query(t, r, "udp", "example.org.", dns.TypeA)
	w.set(func() {
		if w.asked > 0 {
			t.Error("the control plane is asked for a public name")
		}
	})
}

// TestAFloodOfNames: names that nobody has don't displace the addresses that count while the control plane is away.
func TestAFloodOfNames(t *testing.T) {
	w := &world{now: time.Unix(0, 0), known: map[string][]string{"web.prod": {"10.80.0.2"}}}
	n := &names{ask: w.ask, now: w.clock, kept: map[string]answer{}}
	_, _ = n.of(t.Context(), "web.prod.")
	for i := range 2 * most {
		_, _ = n.of(t.Context(), fmt.Sprintf("%d.prod.", i))
	}
	w.set(func() { w.now, w.away = w.now.Add(time.Hour), true })
	if found, err := n.of(t.Context(), "web.prod."); err != nil || len(found.Addresses) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	for i := range 2 * most {
		n.keep(fmt.Sprint(i), answer{Names: node.Names{Known: true}})
	}
	if len(n.kept) > most {
		t.Errorf("%d names are kept", len(n.kept))
	}
}
