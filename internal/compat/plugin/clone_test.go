package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A worktree's .git is a file, and the rest of the folder comes along; a submodule doesn't, and no hook of a repository
// runs.
func TestInstallFromAWorktree(t *testing.T) {
	r := open(t, nil)
	if _, err := r.Install(t.Context(),
		Request{Source: lay(t, t.TempDir(), simple("p", "1", ".git", "gitdir: /elsewhere\n"))}); err != nil ||
		says(t, r, "p") != "1" {
		t.Errorf("a worktree: %v", err)
	}
	inner := lay(t, t.TempDir(), map[string]string{"secret": "x"})
	repo := lay(t, t.TempDir(), simple("q", "1"))
	for _, dir := range []string{inner, repo} {
		git(t, dir, "init", "-q")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-qm", "one")
	}
	git(t, repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "file://"+inner, "inner")
	git(t, repo, "commit", "-qm", "two")
	p, err := r.Install(t.Context(), Request{Source: "file://" + repo})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "inner", "secret")); err == nil {
		t.Error("a submodule came along")
	}
	left(t, r)
}

// A clone that grows without end is stopped by Tend: git has no limit of its own.
func TestCloneIsBounded(t *testing.T) {
	r := open(t, map[string]string{"p/bin/say*": script("echo here")})
	r.opts.Git = filepath.Join(lay(t, t.TempDir(), map[string]string{"git*": script(`for into; do :; done
mkdir -p "$into"; truncate -s 513M "$into/big"
while :; do sleep 1; done`)}), "git")
	_, err := r.Install(t.Context(), Request{Source: "https://example.invalid/x"})
	wantReason(t, err, Source, "it is larger than 512 MiB")
	if says(t, r, "p") != "here" {
		t.Error("another plugin is gone")
	}
	left(t, r)
}

// TestCredentialsAreNotShown: an error is read by more people than may read the source.
func TestCredentialsAreNotShown(t *testing.T) {
	r := open(t, nil)
	for _, source := range []string{"https://s3cr3t@127.0.0.1:1/x", "https://me:s3cr3t@127.0.0.1:1/x",
		"http://s3cr3t@127.0.0.1:1/x.tar.gz"} {
		_, err := r.Install(t.Context(), Request{Source: source})
		wantReason(t, err, Source, "127.0.0.1:1/x")
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v", err)
		}
	}
	for _, source := range []string{"ssh://git@host/x", "git@host:x", "owner/repo", "/a@b/c", "https://host/x"} {
		if shown := Shown(source); shown != source {
			t.Errorf("%s is shown as %s", source, shown)
		}
	}
}
