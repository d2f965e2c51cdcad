package local

import (
	"fmt"
	"testing"

	"tend.dev/tend/api"
)

var askedOwner = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

// TestANodeThatReadsIsNotifiedToo: what it reads may be older than the change that asks it.
func TestANodeThatReadsIsNotifiedToo(t *testing.T) {
	for name, test := range map[string]struct {
		before func(*asked)
		want   bool
	}{
		"it knows that it is asked": {func(a *asked) { a.begin(askedOwner, "n1"); a.end(askedOwner, "n1", 1, true) }, false},
		"it reads right now":        {func(a *asked) { a.begin(askedOwner, "n1") }, true},
		"it reads again": {func(a *asked) { a.renew(askedOwner, 1, []string{"n1"}); a.begin(askedOwner, "n1") },
			true},
		"it is not asked": {func(a *asked) { a.begin(askedOwner, "n1"); a.end(askedOwner, "n1", 1, false) }, true},
	} {
		var a asked
		test.before(&a)
		if got := !a.renew(askedOwner, 2, []string{"n1"})["n1"].knows(); got != test.want {
			t.Errorf("%s: to be notified %v, want %v", name, got, test.want)
		}
		if !a.nodes[askedOwner]["n1"].asked {
			t.Errorf("%s: once notified, it is not taken to be asked", name)
		}
	}
}

// TestAnOlderReadChangesNothing: a node's read that ends late records nothing over what a newer one, or a newer change,
// has recorded.
func TestAnOlderReadChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		newer func(*asked)
		older bool // what the older read saw
		want  bool
	}{
		"a change asks the node":     {func(a *asked) { a.renew(askedOwner, 7, []string{"n1"}) }, false, true},
		"a change no longer asks it": {func(a *asked) { a.renew(askedOwner, 7, nil) }, true, false},
		"it has read that it is asked": {func(a *asked) { a.begin(askedOwner, "n1"); a.end(askedOwner, "n1", 7, true) },
			false, true},
		"it has read that it is not": {func(a *asked) { a.begin(askedOwner, "n1"); a.end(askedOwner, "n1", 7, false) },
			true, false},
		"nothing has happened, and it is": {func(*asked) {}, true, true},
	} {
		var a asked
		a.begin(askedOwner, "n1")
		test.newer(&a)
		a.end(askedOwner, "n1", 5, test.older)
		if got := a.renew(askedOwner, 9, nil)["n1"].knows(); got != test.want {
			t.Errorf("%s: it is taken to be asked: %v, want %v", name, got, test.want)
		}
	}
}

// TestNothingIsKeptOfWhoIsNotAsked: neither of nodes, nor of the objects whose images they were asked for.
func TestNothingIsKeptOfWhoIsNotAsked(t *testing.T) {
	var a asked
	for i := range 100 {
		owner := api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: fmt.Sprint("web-", i)}
		for _, node := range []string{"n1", "n2"} {
			a.begin(owner, node)
			a.end(owner, node, 1, i%2 == 0)
			a.begin(owner, node)
		}
		a.renew(owner, 2, []string{"n2"})
		a.renew(owner, 3, nil)
		a.end(owner, "n1", 1, true)
		a.end(owner, "n2", 4, false)
	}
	if len(a.nodes) > 0 {
		t.Errorf("%d objects are kept", len(a.nodes))
	}
}
