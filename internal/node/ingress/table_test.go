package ingress

import (
	"slices"
	"testing"
)

func TestMatch(t *testing.T) {
	routes := []Route{
		{Host: "shop.example.org", Path: "/"},
		{Host: "shop.example.org", Path: "/api"},
		{Host: "shop.example.org", Path: "/api/v2"},
		{Host: "*.example.org", Path: "/"},
		{Host: "only.example.org", Path: "/app"},
	}
	table := NewTable(routes)
	for _, test := range []struct{ host, path, want string }{
		{"shop.example.org", "/", "shop.example.org/"},
		{"SHOP.example.org:8080", "/apis", "shop.example.org/"},
		{"shop.example.org.", "/api", "shop.example.org/api"},
		{"shop.example.org", "/api/", "shop.example.org/api"},
		{"shop.example.org", "/api/v2", "shop.example.org/api/v2"},
		{"shop.example.org", "/api/v20", "shop.example.org/api"},
		{"shop.example.org", "/API", "shop.example.org/"},
		{"www.example.org", "/x", "*.example.org/"},
		{"a.b.example.org", "/", ""}, // one label below, not two
		{"example.org", "/", ""},
		{"only.example.org", "/", ""}, // the host is declared: no wildcard fills its gaps
		{"only.example.org", "/app/x", "only.example.org/app"},
		{"", "/", ""},
		{"[::1]:80", "/", ""},
		{"10.0.0.1", "/", ""},
	} {
		got := ""
		if route := table.Match(test.host, test.path); route != nil {
			got = route.Host + route.Path
		}
		if got != test.want {
			t.Errorf("%s%s goes to %q, want %q", test.host, test.path, got, test.want)
		}
	}
}

func TestTheFirstOfTwoAlikeCounts(t *testing.T) {
	table := NewTable([]Route{{Host: "a.org", Path: "/", Policy: "first"}, {Host: "a.org", Policy: "second"}})
	if got := table.Match("a.org", "/").Policy; got != "first" {
		t.Errorf("%s", got)
	}
}

// TestGuestsGetNoChallenge: an authority's requests go to the host's owner or to nobody, whatever a guest's path is.
func TestGuestsGetNoChallenge(t *testing.T) {
	const challenge = "/.well-known/acme-challenge/token"
	for name, tc := range map[string]struct {
		reason string
		routes []Route
		want   string // by path
	}{
		"the owner's root": {"however long a guest's path is",
			[]Route{{Path: "/"}, {Path: "/.well-known/acme-challenge", Guest: true}, {Path: "/.well-known", Guest: true}}, "/"},
		"a guest's root": {"the owner has other paths", []Route{{Path: "/shop"}, {Path: "/", Guest: true}}, ""},
		"the very path":  {"stored by an earlier version", []Route{{Path: "/shop"}, {Path: challenge, Guest: true}}, ""},
		"the owner's path": {"it answers challenges itself",
			[]Route{{Path: "/.well-known/acme-challenge"}, {Path: "/", Guest: true}}, "/.well-known/acme-challenge"},
	} {
		for _, host := range []string{"a.org", "*.org"} {
			routes := slices.Clone(tc.routes)
			for i := range routes {
				routes[i].Host = host
			}
			for path, want := range map[string]string{
				challenge: tc.want, "/.well-known/acme-challenge": tc.want, "/.well-known/pki-validation/file.txt": "*",
			} {
				got := ""
				if route := NewTable(routes).Match("a.org", path); route != nil {
					if got = route.Path; route.Guest {
						t.Errorf("%s: %s: %s goes to the guest's %s", name, tc.reason, path, got)
					}
				}
				if want != "*" && got != want {
					t.Errorf("%s: %s: %s goes to %q, want %q", name, tc.reason, path, got, want)
				}
			}
		}
	}
	table := NewTable([]Route{{Host: "a.org", Path: "/", Guest: true}})
	for _, path := range []string{"/", "/.well-known", "/.well-known/acme-challenges", "/x/.well-known/acme-challenge/token"} {
		if table.Match("a.org", path) == nil {
			t.Errorf("the guest doesn't get %s", path)
		}
	}
}
