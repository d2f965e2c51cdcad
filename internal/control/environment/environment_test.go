package environment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/env"
	"tend.dev/tend/internal/store/records"
)

// The buckets of the store are decrypted and merged in order. A value may contain line ends, quotes and =.
func TestEnvironmentIsMergedInOrder(t *testing.T) {
	l := newHarness(t)
	odd := "a=b\n\"c\" 'd'\n${ref.deployment.nobody.host}\n"
	l.config("scopes/prod/A", "scope", "scopes/prod/B", "scope", "scopes/prod/C", "scope", "scopes/production/D",
		"another scope",
		"apps/prod/web/B", "app", "apps/prod/web/C", "app", "apps/prod/web-2/E", "another app", "apps/shared/db/URL",
		odd)
	got, err := l.of(api.Container{Env: map[string]string{"C": "spec"}, EnvFrom: []string{"shared/db"}})
	if diff := cmp.Diff(map[string]string{"A": "scope", "B": "app", "C": "spec", "URL": odd}, got); diff != "" ||
		err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// ${config.…} in env is replaced by the value, alone or within a text; the stored declaration keeps the reference.
func TestConfigReferences(t *testing.T) {
	l := newHarness(t)
	l.config("scopes/prod/HOST", "db.prod", "apps/prod/web/PASSWORD", "s3cret$${ref.a}${config.HOST}",
		"apps/prod/db/USER", "alice", "apps/shared/q/TOKEN", "t0ken")
	declared := api.Container{Env: map[string]string{
		"URL": "postgres://${config.db.USER}:${config.PASSWORD}@${config.HOST}/", "TOKEN": "${config.shared.q.TOKEN}",
		"RAW": "$${config.PASSWORD}",
	}}
	resolved, merged, err := l.env.Resolve(l.snapshot(), web, declared)
	want := map[string]string{
		"HOST": "db.prod", "PASSWORD": "s3cret$${ref.a}${config.HOST}",
		"URL":   "postgres://alice:s3cret$${ref.a}${config.HOST}@db.prod/",
		"TOKEN": "t0ken", "RAW": "${config.PASSWORD}",
	}
	if diff := cmp.Diff(want, merged); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff(declared.Env, resolved.Env); diff != "" {
		t.Errorf("the declaration, which is stored in plain text, has changed:\n%s", diff)
	}
	object := l.put(web, api.DeploymentSpec{Container: declared})
	before, _ := l.env.Hash(merged)
	after, err := l.env.HashAfter(l.snapshot(), object, env.Change{Bucket: env.Bucket{Scope: "prod", Name: "db"},
		Set: map[string]string{"USER": "bob"}})
	if err != nil || after == before {
		t.Errorf("a change of a value it refers to changes nothing: %v", err)
	}
	for bucket, want := range map[env.Bucket]bool{{Scope: "prod", Name: "db"}: true, {Scope: "shared", Name: "q"}: true,
		{Scope: "shared"}: false, {Scope: "prod", Name: "x"}: false} {
		if got := env.ReadBy(object, bucket); got != want {
			t.Errorf("%v is read: %v", bucket, got)
		}
	}
}

// A missing value is reported with the command that sets it; no other value is named.
func TestMissingConfigValue(t *testing.T) {
	l := newHarness(t)
	l.config("apps/prod/web/PASSWORD", "s3cret")
	_, err := l.of(api.Container{Env: map[string]string{"URL": "${config.PASSWORD}${config.NONE}",
		"TOKEN": "${config.shared.q.TOKEN}"}})
	var without *Error
	want := "env.TOKEN: no value for TOKEN; env.URL: no value for NONE: tend config set prod/web NONE=- (it asks for the value); " +
		"tend config set shared/q TOKEN=- (it asks for the value)"
	if !errors.As(err, &without) || without.Reason != api.ReasonSecretKeyMissing || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// A value is decrypted once, and again after it was set to something new.
func TestValuesAreOpenedOnce(t *testing.T) {
	l := newHarness(t)
	read := func(want string) {
		t.Helper()
		merged, err := l.of(api.Container{})
		if err != nil || merged["A"] != want {
			t.Errorf("%q, %v; want %q", merged["A"], err, want)
		}
	}
	l.config("apps/prod/web/A", "1")
	read("1")
	read("1")
	if l.sealer.opened != 1 {
		t.Errorf("opened %d times", l.sealer.opened)
	}
	l.config("apps/prod/web/A", "2")
	read("2")
	l.write(func(txn *records.Txn) { txn.Delete(records.ConfigAppPrefix("prod", "web") + "A") })
	read("")
}

// Equal environments have one hash, regardless of how they were built; a sealed environment decrypts to the original.
func TestHashAndSeal(t *testing.T) {
	l := newHarness(t)
	hash := func(merged map[string]string) string {
		got, err := l.env.Hash(merged)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one := hash(map[string]string{"A": "1", "B": "2"})
	if one != hash(map[string]string{"B": "2", "A": "1"}) || one == hash(map[string]string{"A": "1", "B": "3"}) ||
		one == hash(map[string]string{"A": "1B2"}) {
		t.Error("the hash doesn't follow the values")
	}
	sealed, err := l.env.Seal(map[string]string{"A": "1"})
	if err != nil || string(sealed) != `sealed:{"A":"1"}` {
		t.Errorf("%s, %v", sealed, err)
	}
}

// HashAfter returns the later hash, for every kind of change to the bucket.
func TestHashAfter(t *testing.T) {
	l := newHarness(t)
	l.config("scopes/prod/A", "1", "apps/prod/web/B", "1", "apps/shared/db/C", "1")
	object := l.put(web, api.DeploymentSpec{Container: api.Container{EnvFrom: []string{"shared/db"}}})
	for name, tc := range map[string]struct {
		reason string
		change env.Change
		want   map[string]string
	}{
		"nothing": {"the hash now", env.Change{}, map[string]string{"A": "1", "B": "1", "C": "1"}},
		"set": {"a new value", env.Change{Bucket: env.Bucket{Scope: "prod", Name: "web"},
			Set: map[string]string{"B": "2", "D": "2"}}, map[string]string{"A": "1", "B": "2", "C": "1", "D": "2"}},
		"unset": {"one less", env.Change{Bucket: env.Bucket{Scope: "prod"}, Unset: []string{"A"}},
			map[string]string{"B": "1", "C": "1"}},
		"env_from": {"another's", env.Change{Bucket: env.Bucket{Scope: "shared", Name: "db"},
			Set: map[string]string{"C": "2"}}, map[string]string{"A": "1", "B": "1", "C": "2"}},
		"stranger's": {"no matter of its", env.Change{Bucket: env.Bucket{Scope: "shared", Name: "x"},
			Set: map[string]string{"C": "2"}}, map[string]string{"A": "1", "B": "1", "C": "1"}},
	} {
		got, err := l.env.HashAfter(l.snapshot(), object, tc.change)
		want, _ := l.env.Hash(tc.want)
		if err != nil || got != want {
			t.Errorf("%s: %s: %s, %v; want %s", name, tc.reason, got, err, want)
		}
	}
}

// The error about a value that can't be decrypted names the key and the reason. Setting the value again fixes it, also
// for HashAfter.
func TestUnreadable(t *testing.T) {
	l := newHarness(t)
	l.config("apps/prod/web/TOKEN", "hunter2")
	l.sealer.lost = true
	_, err := l.of(api.Container{})
	var without *Error
	if !errors.As(err, &without) || without.Reason != api.ReasonEnvironmentUnreadable ||
		!strings.Contains(err.Error(), "/config/apps/prod/web/TOKEN") {
		t.Errorf("%v", err)
	}
	object := l.put(web, api.DeploymentSpec{})
	change := env.Change{Bucket: env.Bucket{Scope: "prod", Name: "web"}, Set: map[string]string{"TOKEN": "again"}}
	if _, err := l.env.HashAfter(l.snapshot(), object, change); err != nil {
		t.Errorf("set again: %v", err)
	}
}

func TestConsumers(t *testing.T) {
	l := newHarness(t)
	l.put(web, api.DeploymentSpec{Container: api.Container{EnvFrom: []string{"shared/db", "queue"}}})
	l.put(api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "api"}, api.DeploymentSpec{})
	l.put(api.Ref{Kind: api.KindJob, Scope: "prod", Name: "mail"},
		api.JobSpec{Container: api.Container{EnvFrom: []string{"shared/db"}}})
	for key, want := range map[string]string{
		records.ConfigScopePrefix("prod") + "A":         "api web",
		records.ConfigAppPrefix("prod", "web") + "A":    "web",
		records.ConfigAppPrefix("prod", "queue") + "A":  "web",
		records.ConfigAppPrefix("shared", "db") + "A":   "web",
		records.ConfigScopePrefix("shared") + "A":       "web",
		records.ConfigAppPrefix("shared", "queue") + "": "",
		records.ConfigScopePrefix("production") + "A":   "",
	} {
		bucket, ok := BucketOf(key)
		if !ok {
			t.Fatalf("no bucket has the key %s", key)
		}
		var names []string
		for _, object := range Consumers(l.snapshot(), api.KindDeployment, bucket) {
			names = append(names, object.Value.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s reaches %q, want %q", key, got, want)
		}
	}
	if _, ok := BucketOf(records.ObjectKey(web)); ok {
		t.Error("an object's key belongs to no bucket")
	}
	mail := l.snapshot().Object(api.Ref{Kind: api.KindJob, Scope: "prod", Name: "mail"})
	if !env.ReadBy(*mail.Value, env.Bucket{Scope: "shared", Name: "db"}) {
		t.Error("a job reads its buckets too")
	}
}
