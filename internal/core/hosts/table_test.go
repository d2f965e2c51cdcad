package hosts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// claimed is an ingress that claimed its host in a minute.
func claimed(scope, name string, minute int, spec string) *api.Object {
	object := &api.Object{Kind: api.KindIngress, Scope: scope, Name: name, Spec: []byte(spec)}
	object.Metadata.CreatedAt = began.Add(time.Duration(minute) * time.Minute)
	return object
}

// TestServed: who is served of what is stored, and by which policy.
func TestServed(t *testing.T) {
	const host = `{"host":"a.example"`
	for name, tc := range map[string]struct {
		reason string
		stored []*api.Object
		// want says of each whether it is served, and by whose policy.
		want []string
	}{
		"first": {"the older claim counts, not the older name",
			[]*api.Object{claimed("b", "x", 1, host+`}`), claimed("a", "x", 2, host+`}`)}, []string{"plain", "no"}},
		"same scope": {"both", []*api.Object{claimed("b", "x", 1, host+`}`), claimed("b", "y", 2, host+`}`)},
			[]string{"plain", "plain"}},
		"shared": {"with one scope and no other",
			[]*api.Object{claimed("b", "x", 2, host+`,"shared_with":["a"]}`), claimed("a", "x", 3, host+`}`),
				claimed("c", "x", 4, host+`}`)}, []string{"plain", "plain", "no"}},
		"shared by guests": {"a guest invites no one",
			[]*api.Object{claimed("b", "x", 2, host+`,"shared_with":["a"]}`), claimed("a", "x", 3, host+`,"shared_with":["c"]}`),
				claimed("c", "x", 4, host+`}`)}, []string{"plain", "plain", "no"}},
		"one policy": {"the owner's, for its guests too",
			[]*api.Object{claimed("b", "x", 2, host+`,"tls":{},"shared_with":["a"]}`), claimed("a", "x", 3, host+`}`)},
			[]string{"b/x", "b/x"}},
		"guest's policy": {"it is the owner's to say",
			[]*api.Object{claimed("b", "x", 2, host+`,"shared_with":["a"]}`), claimed("a", "x", 3, host+`,"tls":{}}`)},
			[]string{"plain", "plain"}},
		"second's policy": {"of the owner's ingresses the first that declares one",
			[]*api.Object{claimed("b", "x", 1, host+`}`), claimed("b", "y", 2, host+`,"tls":{}}`)}, []string{"b/y", "b/y"}},
		"below": {"a wildcard owns what nobody had",
			[]*api.Object{claimed("b", "x", 1, `{"host":"*.example"}`), claimed("a", "x", 2, host+`}`)},
			[]string{"plain", "no"}},
		"below, earlier": {"it had it before",
			[]*api.Object{claimed("b", "x", 2, `{"host":"*.example"}`), claimed("a", "x", 1, host+`}`)},
			[]string{"plain", "plain"}},
		"below, shared": {"the name is the guest's, with a policy of its own",
			[]*api.Object{claimed("b", "x", 1, `{"host":"*.example","shared_with":["a"]}`),
				claimed("a", "x", 2, host+`,"tls":{}}`)}, []string{"plain", "a/x"}},
		"two below": {"a wildcard is one level",
			[]*api.Object{claimed("b", "x", 1, `{"host":"*.example"}`), claimed("a", "x", 2, `{"host":"x.a.example"}`)},
			[]string{"plain", "plain"}},
	} {
		for range 2 { // in any order
			table := TableOf(slices.Values(tc.stored))
			for i, object := range tc.stored {
				claim, _ := ClaimOf(*object)
				policy, by, served := table.Served(claim)
				got := "no"
				switch {
				case served && policy != nil:
					got = by.Scope + "/" + by.Name
				case served:
					got = "plain"
				}
				if got != tc.want[i] {
					t.Errorf("%s: %s: %s is %s, want %s", name, tc.reason, object.Ref(), got, tc.want[i])
				}
				if refusal := table.Refuse(claim); !served && (refusal == nil || refusal.Field != "host" || refusal.Next == "") {
					t.Errorf("%s: %s: %+v", name, object.Ref(), refusal)
				}
			}
			slices.Reverse(tc.stored)
			slices.Reverse(tc.want)
		}
	}
}

// TestIsGuest: who may not prove that the host is its own, by whatever location; and what is refused of it at once.
func TestIsGuest(t *testing.T) {
	const host, acme = `{"host":"a.example"`, `,"locations":[{"path":"/x"},{"path":"/.well-known/acme-challenge/"}]`
	shares := claimed("b", "x", 1, host+`,"shared_with":["a","c"]`+acme+`}`)
	below := claimed("b", "x", 1, `{"host":"*.example","shared_with":["a","c"]}`)
	for name, tc := range map[string]struct {
		reason string
		stored []*api.Object
		// want says of each: "own", "guest", or the field that is refused.
		want []string
	}{
		"owner":     {"the host is its own", []*api.Object{shares}, []string{"own"}},
		"guest":     {"with other paths", []*api.Object{shares, claimed("a", "x", 2, host+`}`)}, []string{"own", "guest"}},
		"challenge": {"", []*api.Object{shares, claimed("a", "x", 2, host+acme+`}`)}, []string{"own", "locations[1].path"}},
		"a challenge": {"below it", []*api.Object{shares, claimed("a", "x", 2, host+
			`,"locations":[{"path":"/.well-known/acme-challenge/token"}]}`)}, []string{"own", "locations[0].path"}},
		"another authority's": {"by a file", []*api.Object{shares, claimed("a", "x", 2, host+
			`,"locations":[{"path":"/.well-known/pki-validation"}]}`)}, []string{"own", "locations[0].path"}},
		"above": {"it is shared, and the routes leave the challenges out", []*api.Object{shares, claimed("a", "x", 2, host+
			`,"locations":[{"path":"/.well-known"},{"path":"/.well-known/acme-challenges"}]}`)}, []string{"own", "guest"}},
		"below a wildcard": {"the first guest decides about the TLS of the name", []*api.Object{below,
			claimed("a", "x", 2, host+acme+`}`), claimed("c", "x", 3, host+`}`)}, []string{"own", "own", "guest"}},
		"of a wildcard": {"the owner claims the very host", []*api.Object{below,
			claimed("a", "x", 2, `{"host":"*.example"`+acme+`}`)}, []string{"own", "locations[1].path"}},
	} {
		table := TableOf(slices.Values(tc.stored))
		for i, object := range tc.stored {
			claim, _ := ClaimOf(*object)
			got := "own"
			if table.IsGuest(claim) {
				got = "guest"
			}
			if refusal := table.Refuse(claim); refusal != nil {
				if got = refusal.Field; refusal.Next == "" || refusal.By.Scope != "b" {
					t.Errorf("%s: %+v", name, refusal)
				}
			}
			if got != tc.want[i] {
				t.Errorf("%s: %s: %s is %s, want %s", name, tc.reason, object.Ref(), got, tc.want[i])
			}
		}
	}
}

// TestHidden: one who may not know the other scope reads what is refused and what helps, without its name.
func TestHidden(t *testing.T) {
	owner := claimed("bank", "x", 1, `{"host":"a.example","shared_with":["b"],"tls":{"provider":"internal"}}`)
	for field, tc := range map[string]struct {
		claim        *api.Object
		detail, next string
	}{
		"host": {claimed("c", "x", 2, `{"host":"a.example"}`), "it belongs to", "choose another host"},
		"tls":  {claimed("b", "x", 2, `{"host":"a.example","tls":{"enabled":false}}`), "one TLS policy", "leave tls out"},
		"locations[0].path": {claimed("b", "x", 2, `{"host":"a.example",`+
			`"locations":[{"path":"/.well-known/acme-challenge"}]}`), "authorities check", "leave the location out"},
	} {
		claim, _ := ClaimOf(*tc.claim)
		refusal := TableOf(slices.Values([]*api.Object{owner, tc.claim})).Refuse(claim)
		if refusal == nil || refusal.Field != field {
			t.Errorf("%s: %+v", field, refusal)
			continue
		}
		hidden := refusal.Hidden()
		if !strings.Contains(hidden.Detail, tc.detail) || !strings.HasPrefix(hidden.Next, tc.next) ||
			strings.Contains(hidden.Detail+hidden.Next, "bank") {
			t.Errorf("%s: %+v", field, hidden)
		}
	}
}

// TestStamp: a claim keeps its time with its host, and a new one is the last, also where the clock was set back.
func TestStamp(t *testing.T) {
	old := claimed("b", "x", 1, `{"host":"A.example"}`)
	table := TableOf(slices.Values([]*api.Object{old, claimed("c", "x", 9, `{"host":"*.example"}`)}))
	moved := claimed("b", "x", 1, `{"host":"b.example"}`)
	for name, tc := range map[string]struct {
		old  *api.Object
		next *api.Object
		now  int
		want string
	}{
		"new":       {nil, claimed("d", "x", 0, `{"host":"a.example"}`), 20, "2026-01-01T00:20:00Z a.example"},
		"clock":     {nil, claimed("d", "x", 0, `{"host":"a.example"}`), 0, "2026-01-01T00:09:00.000000001Z a.example"},
		"as before": {old, claimed("b", "x", 1, `{"host":"a.example","tls":{}}`), 20, "2026-01-01T00:01:00Z a.example"},
		"moved":     {old, moved, 20, "2026-01-01T00:20:00Z b.example"},
		"none":      {old, claimed("b", "x", 1, `{}`), 20, ""},
	} {
		if got := table.Stamp(tc.old, *tc.next, began.Add(time.Duration(tc.now)*time.Minute)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	moved.Metadata.Stamps = map[string]string{api.StampHost: "2026-01-01T00:20:00Z b.example"}
	if claim, _ := ClaimOf(*moved); !claim.Since.Equal(began.Add(20 * time.Minute)) {
		t.Errorf("read as %s", claim.Since)
	}
	moved.Metadata.Stamps[api.StampHost] = "2026-01-01T00:20:00Z other.example"
	moved.Metadata.UpdatedAt = began.Add(time.Hour)
	if claim, _ := ClaimOf(*moved); !claim.Since.Equal(moved.Metadata.UpdatedAt) {
		t.Errorf("the stamp of another host counts: %s", claim.Since)
	}
}
