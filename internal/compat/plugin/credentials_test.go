package plugin

import (
	"bytes"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestGitGetsCredentialsByItsEnvironment: a repository that asks for a password is cloned and cloned again, and the
// password is in no argument of git.
func TestGitGetsCredentialsByItsEnvironment(t *testing.T) {
	core, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	repos := t.TempDir()
	repo := lay(t, filepath.Join(repos, "p"), simple("p", "1"))
	git(t, repo, "init", "-q")
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-qm", "one")
	var served atomic.Int64
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(core)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + repos, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "s3cr:et@1" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		served.Add(1)
		backend.ServeHTTP(w, r)
	}))
	defer host.Close()
	home, said := t.TempDir(), filepath.Join(t.TempDir(), "said")
	config := "[credential]\n\thelper = store\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r := open(t, nil, func(o *Options) {
		o.Environ = func() []string { return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")} }
		o.Git = filepath.Join(lay(t, t.TempDir(), map[string]string{"git*": script(`echo "$*" >> ` + said + `
exec git "$@"`)}), "git")
	})
	source := strings.Replace(host.URL, "http://", "http://me:s3cr%3Aet%401@", 1) + "/p/.git"
	for _, ask := range []Request{{Source: source}, {Name: "p"}} {
		before := served.Load()
		p, err := r.Install(t.Context(), ask)
		if err != nil {
			t.Fatalf("%+v: %v", ask, err)
		}
		if served.Load() == before || p.Installed.Source != source {
			t.Errorf("%+v: %d requests with the password, from %s", ask, served.Load()-before, p.Installed.Source)
		}
		info, err := os.Stat(filepath.Join(p.Dir, installedBy))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file that keeps the password: %v, %v", info.Mode(), err)
		}
	}
	arguments, err := os.ReadFile(said)
	if err != nil || bytes.Contains(arguments, []byte("s3cr")) || !bytes.Contains(arguments, []byte(host.URL+"/p/.git")) {
		t.Errorf("git was called with %s (%v)", arguments, err)
	}
	if _, err := os.Stat(filepath.Join(home, ".git-credentials")); err == nil {
		t.Error("the password was stored by the user's credential helper")
	}
}

func TestShown(t *testing.T) {
	for source, want := range map[string]string{
		"https://s3cr3t@host/x":                  "https://xxxxx@host/x",
		"https://me:s3cr3t@host/x":               "https://xxxxx@host/x",
		"ssh://git:s3cr3t@host/x":                "ssh://xxxxx@host/x",
		"https://me:s3c%zz@r3t@host/x":           "https://xxxxx@host/x",
		"https://host/x.tar.gz?token=s3cr3t&a=b": "https://host/x.tar.gz?a=xxxxx&token=xxxxx",
	} {
		if got := Shown(source); got != want {
			t.Errorf("%s is shown as %s, want %s", source, got, want)
		}
	}
	_, err := open(t, nil).Install(t.Context(), Request{Source: "https://me:s3c%zz@host/x"})
	wantReason(t, err, Source, "install https://xxxxx@host/x: it is not a URL")
}

func TestAPluginWithoutASourceIsNotFetchedAgain(t *testing.T) {
	r := open(t, map[string]string{"p/bin/say*": script("echo here")})
	_, err := r.Install(t.Context(), Request{Name: "p"})
	wantReason(t, err, Source, "nothing says where it came from")
	_, err = r.Install(t.Context(), Request{Name: "q"})
	wantReason(t, err, NotFound, "q")
}
