package env

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tend.dev/tend/api"
)

var web = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "web"}

func values(buckets map[Bucket]map[string]string) Buckets {
	return Buckets{Values: func(b Bucket) (map[string]string, error) { return buckets[b], nil }}
}

func TestMerge(t *testing.T) {
	const scope, app, db, far, farScope = "scope", "app", "db", "far", "far scope"
	buckets := values(map[Bucket]map[string]string{
		{Scope: "prod"}:                  {"A": scope, "B": scope, "C": scope, "S": scope},
		{Scope: "prod", Name: "web"}:     {"B": app, "C": app},
		{Scope: "prod", Name: "db"}:      {"A": db, "D": db, "E": db},
		{Scope: "shared"}:                {"E": farScope, "F": farScope, "G": farScope},
		{Scope: "shared", Name: "cache"}: {"F": far},
		{Scope: "prod", Name: "web-2"}:   {"X": "another app"},
		{Scope: "production"}:            {"X": "another scope"},
	})
	for name, tc := range map[string]struct {
		reason   string
		declared api.Container
		want     map[string]string
	}{
		"own": {"scope, app, manifest", api.Container{Env: map[string]string{"C": "spec"}},
			map[string]string{"A": scope, "B": app, "C": "spec", "S": scope}},
		"same scope": {"under the own scope's bucket", api.Container{EnvFrom: []string{"db"}},
			map[string]string{"A": scope, "B": app, "C": app, "D": db, "E": db, "S": scope}},
		"its own scope named": {"means the same", api.Container{EnvFrom: []string{"prod/db"}},
			map[string]string{"A": scope, "B": app, "C": app, "D": db, "E": db, "S": scope}},
		"another scope": {"brings its scope's bucket, the app's over it", api.Container{EnvFrom: []string{"shared/cache"}},
			map[string]string{"A": scope, "B": app, "C": app, "S": scope, "E": farScope, "F": far, "G": farScope}},
		"in order": {"the last entry wins", api.Container{EnvFrom: []string{"db", "shared/cache"}},
			map[string]string{"A": scope, "B": app, "C": app, "D": db, "E": farScope, "F": far, "G": farScope, "S": scope}},
		"the other order": {"the last entry wins", api.Container{EnvFrom: []string{"shared/cache", "db"}},
			map[string]string{"A": scope, "B": app, "C": app, "D": db, "E": db, "F": far, "G": farScope, "S": scope}},
		"one of two is empty": {"an entry may be filled later", api.Container{EnvFrom: []string{"nobody", "db"}},
			map[string]string{"A": scope, "B": app, "C": app, "D": db, "E": db, "S": scope}},
		"secret file": {"its key leaves the environment", api.Container{SecretFiles: map[string]string{"/run/s": "A"}},
			map[string]string{"B": app, "C": app, "S": scope, "=/run/s": scope}},
		"secret file and env": {"what the manifest declares stays", api.Container{
			SecretFiles: map[string]string{"/run/s": "A"}, Env: map[string]string{"A": "spec"}},
			map[string]string{"A": "spec", "B": app, "C": app, "S": scope, "=/run/s": scope}},
		"secret of a build": {"its key leaves the environment, and a file of it stays", api.Container{
			Build: &api.Build{Secrets: []string{"A", "S"}}, SecretFiles: map[string]string{"/run/s": "S"},
			Env: map[string]string{"A": "spec"}},
			map[string]string{"A": "spec", "B": app, "C": app, "=/run/s": scope}},
		"two files of one key": {"each has it", api.Container{SecretFiles: map[string]string{"/a": "S", "/b": "S"}},
			map[string]string{"A": scope, "B": app, "C": app, "=/a": scope, "=/b": scope}},
	} {
		got, err := Merge(web, tc.declared, buckets)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %s: %v\n%s", name, tc.reason, err, diff)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	buckets := values(map[Bucket]map[string]string{{Scope: "prod"}: {"A": "1"}})
	var empty *EmptyError
	if _, err := Merge(web, api.Container{EnvFrom: []string{"db", "x/y"}}, buckets); !errors.As(err, &empty) ||
		len(empty.Entries) != 2 {
		t.Errorf("no entry has a key: %v", err)
	}
	var missing *MissingKeysError
	declared := api.Container{SecretFiles: map[string]string{"/a": "A", "/b": "B", "/c": "B"},
		Env: map[string]string{"B": "in the manifest"}}
	if _, err := Merge(web, declared, buckets); !errors.As(err, &missing) || cmp.Diff([]string{"B"}, missing.Keys) != "" {
		t.Errorf("a key that no bucket has: %v", err)
	}
	broken := errors.New("broken")
	if _, err := Merge(web, api.Container{},
		Buckets{Values: func(Bucket) (map[string]string, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("an unreadable bucket: %v", err)
	}
}

const (
	pemCertificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	pemKey         = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	pemPublic      = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
)

// A certificate or a private key that a bucket withholds becomes no variable, whichever object reads it, but can be a
// secret file. A value of the same key in another bucket is not meant, nor is a value that is neither.
func TestWithheld(t *testing.T) {
	buckets := values(map[Bucket]map[string]string{
		{Scope: "prod"}:                    {"KEY": pemKey, "SHARED": "scope", "URL": "db://", "PUBLIC": pemPublic},
		{Scope: "prod", Name: "web"}:       {"CRT": pemCertificate, "B": "app"},
		{Scope: "prod", Name: "db"}:        {"KEY": "db"},
		{Scope: "shared", Name: "ingress"}: {"CRT": pemCertificate},
	})
	buckets.Withheld = func(b Bucket) []string {
		return map[Bucket][]string{
			{Scope: "prod"}: {"KEY", "CRT", "URL", "PUBLIC"}, {Scope: "prod", Name: "web"}: {"KEY", "CRT"},
			{Scope: "shared", Name: "ingress"}: {"CRT"},
		}[b]
	}
	for name, tc := range map[string]struct {
		reason   string
		declared api.Container
		want     map[string]string
	}{
		"own": {"neither its own nor its scope's", api.Container{}, nil},
		"env_from": {"nor another's, which its scope's would hide anyway",
			api.Container{EnvFrom: []string{"db", "shared/ingress"}}, nil},
		"secret file": {"who names it has it", api.Container{SecretFiles: map[string]string{"/run/crt": "CRT"}},
			map[string]string{"=/run/crt": pemCertificate}},
		"manifest": {"its own text stays", api.Container{Env: map[string]string{"KEY": "spec"}},
			map[string]string{"KEY": "spec"}},
	} {
		want := map[string]string{"SHARED": "scope", "B": "app", "URL": "db://", "PUBLIC": pemPublic}
		maps.Copy(want, tc.want)
		got, err := Merge(web, tc.declared, buckets)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s: %v\n%s", name, tc.reason, err, diff)
		}
	}
}

// A variable that Tend sets in a container itself doesn't belong to its environment here: a value of a bucket would
// change nothing but the hash, and roll the pods. A secret file can have it, and the manifest's own text is part of the
// spec anyway.
func TestIdentitiesAreNotMerged(t *testing.T) {
	buckets := values(map[Bucket]map[string]string{{Scope: "prod"}: {
		"TEND_NAME": "x", "TEND_SCOPE": "x", "TEND_SLOT": "x", "VOODU_SCOPE": "x", "VOODU_NAME": "x",
		"TEND_REPLICA_ORDINAL": "x", "VOODU_REPLICA_ID": "x", "A": "1",
	}})
	stateful := api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "db"}
	for name, tc := range map[string]struct {
		ref      api.Ref
		declared api.Container
		want     map[string]string
	}{
		"deployment": {web, api.Container{},
			map[string]string{"A": "1", "TEND_REPLICA_ORDINAL": "x", "VOODU_REPLICA_ID": "x"}},
		"statefulset": {stateful, api.Container{}, map[string]string{"A": "1"}},
		"secret file": {stateful, api.Container{SecretFiles: map[string]string{"/n": "TEND_NAME"}},
			map[string]string{"A": "1", "=/n": "x"}},
		"manifest": {stateful, api.Container{Env: map[string]string{"TEND_NAME": "spec"}},
			map[string]string{"A": "1", "TEND_NAME": "spec"}},
	} {
		got, err := Merge(tc.ref, tc.declared, buckets)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestReads(t *testing.T) {
	for bucket, want := range map[Bucket]bool{
		{Scope: "prod"}: true, {Scope: "prod", Name: "web"}: true, {Scope: "prod", Name: "db"}: true,
		{Scope: "shared"}: true, {Scope: "shared", Name: "cache"}: true,
		{Scope: "prod", Name: "api"}: false, {Scope: "shared", Name: "db"}: false, {Scope: "staging"}: false,
	} {
		if got := Reads(web, []string{"db", "shared/cache"}, bucket); got != want {
			t.Errorf("%v: %v", bucket, got)
		}
	}
}

// Merge modifies none of its inputs; the manifest's env always wins; and Split returns exactly the variables and the
// files.
func TestMergeKeepsItsInputs(t *testing.T) {
	names := rapid.SampledFrom([]string{"A", "B", "C"})
	texts := rapid.MapOf(names, rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		scope, app, spec := texts.Draw(t, "scope"), texts.Draw(t, "app"), texts.Draw(t, "spec")
		buckets := map[Bucket]map[string]string{{Scope: "prod"}: scope, {Scope: "prod", Name: "web"}: app}
		before := []map[string]string{maps.Clone(scope), maps.Clone(app), maps.Clone(spec)}
		declared := api.Container{Env: spec, SecretFiles: map[string]string{}}
		for key := range scope {
			declared.SecretFiles["/run/"+key] = key
		}
		got, err := Merge(web, declared, values(buckets))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, []map[string]string{scope, app, spec}); diff != "" {
			t.Fatal(diff)
		}
		variables, files := Split(got)
		for key, value := range spec {
			if variables[key] != value {
				t.Fatalf("%s is %q, declared %q", key, variables[key], value)
			}
		}
		if len(files) != len(declared.SecretFiles) || len(variables)+len(files) != len(got) {
			t.Fatalf("%v fell apart into %v and %v", got, variables, files)
		}
		for key := range scope {
			want := scope[key]
			if over, found := app[key]; found {
				want = over
			}
			if files["/run/"+key] != want {
				t.Fatalf("the file of %s holds %q, want %q", key, files["/run/"+key], want)
			}
		}
	})
}
