package deployment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/layout"
)

// The scope's bucket, above it the app's, above it the manifest.
func TestEnvironmentIsMergedInOrder(t *testing.T) {
	l := newLab(t)
	for key, value := range map[string]string{
		"scopes/prod/A": "scope", "scopes/prod/B": "scope", "scopes/prod/C": "scope", "scopes/production/D": "another scope",
		"apps/prod/web/B": "app", "apps/prod/web/C": "app", "apps/prod/web-2/E": "another app",
	} {
		l.config(key, value)
	}
	got, err := l.c.env.merged(l.snapshot(), web, api.DeploymentSpec{Env: map[string]string{"C": "spec"}})
	if diff := cmp.Diff(map[string]string{"A": "scope", "B": "app", "C": "spec"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A value is opened once, and again when it was set anew.
func TestValuesAreOpenedOnce(t *testing.T) {
	l := newLab(t)
	l.config("apps/prod/web/A", "1")
	read := func() string {
		env, err := l.c.env.merged(l.snapshot(), web, api.DeploymentSpec{})
		if err != nil {
			t.Fatal(err)
		}
		return env["A"]
	}
	read()
	l.sealer.lost = true
	if got := read(); got != "1" {
		t.Errorf("from memory: %q", got)
	}
	l.sealer.lost = false
	l.config("apps/prod/web/A", "2")
	if got := read(); got != "2" {
		t.Errorf("set anew: %q", got)
	}
	l.write(func(txn *layout.Txn) { txn.Delete(layout.ConfigAppPrefix("prod", "web") + "A") })
	if got := read(); got != "" {
		t.Errorf("taken back: %q", got)
	}
}

// The same environment has one hash, however it came about.
func TestEnvironmentHash(t *testing.T) {
	e := environment{sealer: &sealer{}}
	hash := func(env map[string]string) string {
		got, err := e.hash(env)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := hash(map[string]string{"A": "1", "B": "2"})
	if one != hash(map[string]string{"B": "2", "A": "1"}) || one == hash(map[string]string{"A": "1", "B": "3"}) || one == hash(map[string]string{"A": "1B2"}) {
		t.Error("the hash doesn't follow the values")
	}
}
