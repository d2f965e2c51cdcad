package api_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

// TestHostPorts compares with the plain rule: two ports clash if number and protocol are the same and the addresses
// are, or either is that of every address.
func TestHostPorts(t *testing.T) {
	type port struct {
		ip       string
		number   int
		protocol string
	}
	every := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) port {
			return port{
				rapid.SampledFrom([]string{"", "0.0.0.0", "::", "127.0.0.1", "10.0.0.1", "::1", "some"}).Draw(t, "ip"),
				rapid.IntRange(1, 3).Draw(t, "number"), rapid.SampledFrom([]string{"tcp", "udp"}).Draw(t, "protocol"),
			}
		})
		var taken api.HostPorts[int]
		var all []port
		for i, p := range rapid.SliceOfN(draw, 1, 12).Draw(t, "ports") {
			want := false
			for _, other := range all {
				want = want || other.number == p.number && other.protocol == p.protocol &&
					(other.ip == p.ip || every(other.ip) || every(p.ip))
			}
			owner, clash := taken.Owner(p.ip, p.number, p.protocol)
			if clash != want {
				t.Fatalf("%v beside %v: %v, want %v", p, all, clash, want)
			}
			if clash && (all[owner].number != p.number || all[owner].protocol != p.protocol) {
				t.Fatalf("%v beside %v: it names %v", p, all, all[owner])
			}
			taken.Take(p.ip, p.number, p.protocol, i)
			all = append(all, p)
		}
	})
}

// TestListsAreBounded: a spec with a long list is refused before anything compares its entries.
func TestListsAreBounded(t *testing.T) {
	many := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("127.0.%d.%d:80:80", i/250, i%250+1))
		}
		return out
	}
	quoted := func(entries []string) string {
		return `["` + strings.Join(entries, `","`) + `"]`
	}
	for name, c := range map[string]struct{ spec, field string }{
		"as long as may be": {`{"image":"x","ports":` + quoted(many(api.MaxListEntries)) + `}`, ""},
		"longer":            {`{"image":"x","ports":` + quoted(many(api.MaxListEntries+1)) + `}`, "ports"},
		"far longer":        {`{"image":"x","ports":` + quoted(many(40_000)) + `}`, "ports"},
		"within a block": {`{"image":"x","config":{"a":[{"b.c":` + quoted(many(api.MaxListEntries+1)) + `}]}}`,
			`config.a[0]["b.c"]`},
		"too many ports":      {`{"image":"x","ports":["1-65535:1-65535"]}`, "ports"},
		"too many together":   {`{"image":"x","ports":["1000-3999:1000-3999","4000-5999:4000-5999"]}`, "ports"},
		"a large range":       {`{"image":"x","ports":["10000-14095:10000-14095/udp"]}`, ""},
		"twice the same port": {`{"image":"x","ports":["80:80","3000-3009:80-89","3005:1","80:81"]}`, "ports[2] ports[3]"},
	} {
		fields := ""
		for i, fault := range api.ValidateObject(api.Object{Kind: api.KindDeployment, Scope: "prod", Name: "web",
			Spec: []byte(c.spec)}) {
			if i > 0 {
				fields += " "
			}
			fields += fault.Field
		}
		if fields != c.field {
			t.Errorf("%s: faults at %q, want %q", name, fields, c.field)
		}
	}
}
