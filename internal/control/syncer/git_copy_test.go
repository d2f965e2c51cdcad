package syncer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/platform/gitcmd"
)

// revisions makes commits in the repository, each with a file that resembles no other, and returns their ids.
func (o *origin) revisions(count, bytesEach int) []string {
	o.Helper()
	random := rand.NewChaCha8([32]byte{1})
	var in bytes.Buffer
	for i := range count {
		body, text := make([]byte, bytesEach), manifestOf("web", fmt.Sprint("web:", i))
		_, _ = random.Read(body) // never fails
		fmt.Fprintf(&in, "commit refs/heads/all\nmark :%d\ncommitter Ann <ann@example.org> %d +0000\ndata 6\nchange\n",
			i+1, i)
		fmt.Fprintf(&in, "M 644 inline web.hcl\ndata %d\n%s\n", len(text), text)
		fmt.Fprintf(&in, "M 644 inline body\ndata %d\n%s\n", len(body), body)
	}
	marks := filepath.Join(o.TempDir(), "marks")
	command := exec.CommandContext(o.Context(), "git", "fast-import", "--quiet", "--force", "--export-marks="+marks)
	command.Dir, command.Stdin = o.bare, &in
	if out, err := command.CombinedOutput(); err != nil {
		o.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(marks)
	if err != nil {
		o.Fatal(err)
	}
	ids := make([]string, count)
	for line := range strings.Lines(string(text)) {
		var mark int
		var id string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &id); err != nil {
			o.Fatal(err)
		}
		ids[mark-1] = id
	}
	return ids
}

// TestACopyHasWhatARevisionNeeds: it doesn't grow with the revisions that were synced.
func TestACopyHasWhatARevisionNeeds(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	const each, count = 200 << 10, 50
	folder := filepath.Join(w.syncer.Folder, "uid-1", "git")
	ids := o.revisions(count, each)
	for i, id := range ids {
		git(t, o.bare, "update-ref", "refs/heads/main", id)
		if got := w.want(fmt.Sprint("revision ", i), api.SyncSpec{Git: o.bare, Ref: "main"},
			fmt.Sprint("web=web:", i)); got != id {
			t.Fatalf("revision %s, want %s", got, id)
		}
		if size := gitcmd.Size(folder); size > tidyFrom+2*each {
			t.Fatalf("after %d revisions of %d bytes the copy has %d", i+1, each, size)
		}
	}
	git(t, o.bare, "update-ref", "refs/heads/main", ids[3])
	w.want("an earlier one, which the copy has no more", api.SyncSpec{Git: o.bare, Ref: "main"}, "web=web:3")
}

// TestAFullCopyIsFetchedAgain: earlier revisions are no reason to refuse one that fits. One that doesn't fit is
// refused, and leaves nothing.
func TestAFullCopyIsFetchedAgain(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	w.syncer.MaxCopy = 700 << 10
	for i, id := range o.revisions(5, 300<<10) {
		git(t, o.bare, "update-ref", "refs/heads/main", id)
		w.want(fmt.Sprint("revision ", i), api.SyncSpec{Git: o.bare, Ref: "main"}, fmt.Sprint("web=web:", i))
	}
	git(t, o.bare, "update-ref", "refs/heads/main", o.revisions(1, 800<<10)[0])
	w.wantFault("too large", api.SyncSpec{Git: o.bare, Ref: "main"}, api.ReasonNotAllowed, "larger than")
	if size := gitcmd.Size(filepath.Join(w.syncer.Folder, "uid-1", "git")); size != 0 {
		t.Errorf("%d bytes are left of it", size)
	}
}

// TestGitShowsNoSecret: whatever git prints of the login it was given, no fault has it; and no argument has a URL's
// query.
func TestGitShowsNoSecret(t *testing.T) {
	w := newWorld(t)
	said := filepath.Join(t.TempDir(), "said")
	w.syncer.Git = filepath.Join(filepath.Dir(said), "git")
	lay(t, filepath.Dir(said), map[string]string{"git": "#!/bin/sh\necho \"$*\" >> " + said + `
printf 'fatal: %s, %s, Basic %s\n' "$TEND_GIT_PASSWORD" "https://$TEND_GIT_USER:$TEND_GIT_PASSWORD@host/x" "$(printf %s "$TEND_GIT_USER:$TEND_GIT_PASSWORD" | base64)" >&2
exit 128
`})
	if err := os.Chmod(w.syncer.Git, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]api.SyncSpec{
		"beside the URL": {Git: "https://host.example/x", Username: "me", Password: "s3cret-t0ken"},
		"in the URL":     {Git: "https://me:s3cret-t0ken@host.example/x"},
		"the user":       {Git: "https://s3cret-t0ken@host.example/x"},
	} {
		w.wantFault(name, spec, api.ReasonFetchFailed, "git: fatal: ", "xxxxx")
		_, fault := w.poll(spec)
		for _, secret := range []string{"s3cret", "t0ken", "czNjcmV0LXQwa2Vu", "MzY3JldC10MGtlb", "bWU6czNjcmV0"} {
			if strings.Contains(fault, secret) {
				t.Errorf("%s: %q shows %q", name, fault, secret)
			}
		}
	}
	w.wantFault("in the query", api.SyncSpec{Git: "https://host.example/x?access_token=s3cret"},
		api.ReasonFetchFailed, "has a query")
	if arguments, err := os.ReadFile(said); err != nil || strings.Contains(string(arguments), "s3cret") {
		t.Errorf("git was called with %s, %v", arguments, err)
	}
}

// TestAnApplyAfterTheEndLeavesNothing: it fetches nothing, and makes no folder.
func TestAnApplyAfterTheEndLeavesNothing(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")})
	spec := api.SyncSpec{Git: o.bare}
	w.want("fetched", spec, "web=web:1")
	if (w.opts.Through != term{}) || w.opts.Sync == nil || w.opts.Sync.Metadata.UID != "uid-1" {
		t.Errorf("applied as %+v", w.opts)
	}
	w.syncer.Drop("uid-1")
	w.applied = ""
	if applied := w.syncer.Apply(t.Context(), term{}, syncOf(spec)); applied.Fault == nil || w.applied != "" {
		t.Errorf("applied %q: %+v", w.applied, applied)
	}
	if left, err := os.ReadDir(w.syncer.Folder); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
