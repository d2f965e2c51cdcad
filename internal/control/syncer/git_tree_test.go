package syncer

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestTreesThatNameEachOther: a repository of a few kilobytes that stands for a thousand million files is refused by
// what it lists, also where the path of the sync leads past them. The git of the test ends where an archive is asked
// for.
func TestTreesThatNameEachOther(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	w.syncer.Git = filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\ncase \"$*\" in *archive*) echo archived >&2; exit 1;; esac\nexec git \"$@\"\n"
	lay(t, filepath.Dir(w.syncer.Git), map[string]string{"git": script})
	if err := exec.CommandContext(t.Context(), "chmod", "700", w.syncer.Git).Run(); err != nil {
		t.Fatal(err)
	}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")})
	kind, id := "100644 blob", git(t, o.work, "rev-parse", "HEAD:web.hcl")
	web := id
	for range 9 {
		var entries strings.Builder
		for n := range 10 {
			fmt.Fprintf(&entries, "%s %s\t%d\n", kind, id, n)
		}
		kind, id = "040000 tree", makeTree(t, o.work, entries.String())
	}
	root := makeTree(t, o.work, fmt.Sprintf("040000 tree %s\tbomb\n100644 blob %s\tweb.hcl\n", id, web))
	commit := git(t, o.work, "commit-tree", root, "-m", "bomb")
	git(t, o.work, "push", "-q", "--force", "origin", commit+":refs/heads/main")
	for _, path := range []string{"", "web.hcl"} {
		w.wantFault("path "+path, api.SyncSpec{Git: o.bare, Path: path}, api.ReasonNotAllowed,
			"has more than 10000 files")
	}
}

// makeTree stores a tree and returns its id.
func makeTree(t *testing.T, folder, entries string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "mktree")
	command.Dir, command.Stdin = folder, strings.NewReader(entries)
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
