package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// helper puts a credential helper on the PATH.
func helper(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name),
		[]byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestDeclaredRegistriesGoFirst(t *testing.T) {
	helper(t, "box", `read server; echo "{\"Username\":\"aws\",\"Secret\":\"of-$server\"}"`)
	helper(t, "empty", `echo credentials not found in native keychain; exit 1`)
	helper(t, "loud", `yes | head -c 200000`)
	config := func(context.Context, string) (Auth, bool, error) { return Auth{Username: "of the config"}, true, nil }
	declared := map[string]Registry{
		"ghcr.io": {Username: "ann", Token: "t0ken"}, "docker.io": {Username: "hub", Token: "h"},
		"reg.local:5000": {Helper: "box"},
		"empty.example":  {Helper: "empty"}, "absent.example": {Helper: "nobody"}, "loud.example": {Helper: "loud"},
	}
	auth := WithRegistries(func(host string) (Registry, bool, error) {
		if host == "broken.example" {
			return Registry{}, false, errors.New("the token can't be opened")
		}
		r, ok := declared[host]
		return r, ok, nil
	}, config)
	for name, tc := range map[string]struct {
		reason, ref string
		want        Auth
		fault       string
	}{
		"declared": {"its token is used", "ghcr.io/a/b:1", Auth{Username: "ann", Password: "t0ken", Server: "ghcr.io"}, ""},
		"hub": {"a name without a registry is docker hub's", "web",
			Auth{Username: "hub", Password: "h", Server: dockerHub}, ""},
		"helper": {"a helper is asked", "reg.local:5000/web",
			Auth{Username: "aws", Password: "of-reg.local:5000", Server: "reg.local:5000"}, ""},
		"undeclared": {"docker's own config applies to the rest", "other.example/web", Auth{Username: "of the config"}, ""},
		"empty": {"a declared helper must know", "empty.example/web", Auth{},
			"docker-credential-empty has no credentials"},
		"absent": {"a helper that isn't installed is named", "absent.example/web", Auth{},
			"docker-credential-nobody is not on the node's PATH"},
		"loud": {"a helper's output is bounded", "loud.example/web", Auth{}, "docker-credential-loud"},
		"broken": {"a registry that can't be read is reported", "broken.example/web", Auth{},
			"broken.example: the token can't be opened"},
	} {
		got, found, err := auth(t.Context(), tc.ref)
		switch {
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %s: %v, want %q", name, tc.reason, err, tc.fault)
		case tc.fault == "" && (err != nil || !found || got != tc.want):
			t.Errorf("%s: %s: %v\n%s", name, tc.reason, err, cmp.Diff(tc.want, got))
		}
	}
}
