package ingress

import "testing"

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
