package gitcmd

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCredentialsAreInNoArgument: git gets them by its environment, whether they stand in the URL or beside it.
func TestCredentialsAreInNoArgument(t *testing.T) {
	program := script(t, `echo "$*"; echo ENV; env`)
	for name, access := range map[string]Access{
		"in the URL": {URL: "https://me:s3cr%3Aet@host.example/x"},
		"beside it":  {URL: "https://host.example/x", Username: "me", Password: "s3cr:et"},
	} {
		out, err := Run(t.Context(), program,
			Call{Access: access, Limit: time.Minute,
				Env:  map[string]string{"PATH": os.Getenv("PATH"), "GIT_TERMINAL_PROMPT": "1"},
				Args: func(repository string) []string { return []string{"fetch", "--", repository} }})
		if err != nil || out.Code != 0 {
			t.Fatalf("%s: %v %s", name, err, out.Stderr)
		}
		args, env, _ := strings.Cut(string(out.Stdout), "\nENV\n")
		if strings.Contains(args, "s3cr") || !strings.HasSuffix(args, "fetch -- https://host.example/x") ||
			!strings.Contains(args, "core.hooksPath=/dev/null") {
			t.Errorf("%s: git was called with %s", name, args)
		}
		for _, line := range []string{"TEND_GIT_USER=me\n", "TEND_GIT_PASSWORD=s3cr:et\n", "GIT_TERMINAL_PROMPT=0\n",
			"GIT_ALLOW_PROTOCOL=https:http:git:ssh:file\n"} {
			if !strings.Contains(env, line) {
				t.Errorf("%s: the environment lacks %q:\n%s", name, line, env)
			}
		}
	}
}

// TestAPinnedHostIsNotLookedUp: git connects to the given addresses, whatever the name resolves to, and still sends the
// name over http. With the protocol git it gets the address itself.
func TestAPinnedHostIsNotLookedUp(t *testing.T) {
	asked := make(chan string, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host
		w.WriteHeader(http.StatusNotFound)
	}))
	defer web.Close()
	port := strings.TrimPrefix(web.URL, "http://127.0.0.1:")
	at := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	list := func(repository string) []string { return []string{"ls-remote", "--", repository} }
	call := Call{Access: Access{URL: "http://repo.invalid:" + port + "/x", At: at, Direct: true},
		Args: list, Limit: time.Minute, Env: map[string]string{"PATH": os.Getenv("PATH")}}
	out, err := Run(t.Context(), "git", call)
	if err != nil || out.Code == 0 {
		t.Fatalf("%v, %d", err, out.Code)
	}
	select {
	case host := <-asked:
		if host != "repo.invalid:"+port {
			t.Errorf("git asks for %s", host)
		}
	default:
		t.Errorf("git asks another machine: %s", out.Stderr)
	}
	for url, want := range map[string]string{"git://repo.invalid/x": "git://127.0.0.1:9418/x",
		"git://repo.invalid:99/x": "git://127.0.0.1:99/x",
		"ssh://repo.invalid/x":    "ssh://repo.invalid/x", "/srv/x": "/srv/x"} {
		call := Call{Access: Access{URL: url, At: at}, Args: list, Limit: time.Minute,
			Env: map[string]string{"PATH": os.Getenv("PATH")}}
		out, err := Run(t.Context(), script(t, `echo "$GIT_OVERRIDE_VIRTUAL_HOST $*"`), call)
		host := map[string]string{"git://repo.invalid/x": "repo.invalid", "git://repo.invalid:99/x": "repo.invalid:99"}[url]
		if said := strings.TrimSuffix(string(out.Stdout), "\n"); err != nil || !strings.HasSuffix(said, "-- "+want) ||
			!strings.HasPrefix(said, host+" -c") {
			t.Errorf("%s: git was called with %s, %v", url, out.Stdout, err)
		}
	}
}

func TestSSH(t *testing.T) {
	for want, access := range map[string]Access{
		"ssh -o BatchMode=yes -o ConnectTimeout=30":                                                                                           {},
		`ssh -o BatchMode=yes -o ConnectTimeout=30 -o IdentitiesOnly=yes -i '/it'\''s/key'`:                                                   {KeyFile: "/it's/key"},
		"ssh -o BatchMode=yes -o ConnectTimeout=30 -o StrictHostKeyChecking=yes -o 'UserKnownHostsFile=/k' -o GlobalKnownHostsFile=/dev/null": {KnownHosts: "/k"},
	} {
		if got := access.ssh(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestACallThatWritesTooMuchIsEnded: git itself has no bound.
func TestACallThatWritesTooMuchIsEnded(t *testing.T) {
	large, folder := errors.New("too large"), t.TempDir()
	_, err := Run(t.Context(), script(t, "truncate -s 2M "+folder+"/big; sleep 600"), Call{
		Limit: time.Minute, Env: map[string]string{"PATH": os.Getenv("PATH")}, Args: func(string) []string { return nil },
		TooLarge: func() error {
			if Exceeds(folder, 1<<20, 10) {
				return large
			}
			return nil
		},
	})
	if !errors.Is(err, large) {
		t.Errorf("ended with %v", err)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}
