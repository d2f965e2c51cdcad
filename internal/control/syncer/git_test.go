package syncer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

// TestARepositoryByPath: commit, another commit, a tag, a commit id, a forced push, a folder, unreachable and back.
func TestARepositoryByPath(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	spec := api.SyncSpec{Git: o.bare}
	w.wantFault("empty", spec, api.ReasonFetchFailed, `has no branch or tag ""`)
	first := o.commit(map[string]string{"deploy/web.hcl": manifestOf("web", "web:1"), "README.md": "x"})
	if got := w.want("the default branch", spec, "web=web:1"); got != first {
		t.Errorf("revision %s, want %s", got, first)
	}
	if w.opts.Manager != "sync:shop" || w.opts.Set != "sync:shop/uid-1" || w.opts.Prune {
		t.Errorf("applied as %+v", w.opts)
	}
	git(t, o.work, "tag", "-a", "v1", "-m", "v1")
	git(t, o.work, "push", "-q", "origin", "v1")
	second := o.commit(map[string]string{"deploy/web.hcl": manifestOf("web", "web:2")})
	if got := w.want("another commit", spec, "web=web:2"); got != second {
		t.Errorf("revision %s, want %s", got, second)
	}
	if got := w.want("a tag", api.SyncSpec{Git: o.bare, Ref: "v1"}, "web=web:1"); got != first {
		t.Errorf("revision %s, want the tagged commit %s", got, first)
	}
	w.want("a commit id", api.SyncSpec{Git: "file://" + o.bare, Ref: second}, "web=web:2")
	w.want("a branch by its whole name", api.SyncSpec{Git: o.bare, Ref: "refs/heads/main"}, "web=web:2")

	git(t, o.work, "reset", "-q", "--hard", first)
	forced := o.commit(map[string]string{"deploy/web.hcl": manifestOf("web", "web:3"),
		"other/api.hcl": manifestOf("api", "api:1")})
	spec.Ref = "main"
	if got := w.want("a forced push", spec, "api=api:1 web=web:3"); got != forced {
		t.Errorf("revision %s, want %s", got, forced)
	}
	spec.Path = "other"
	w.want("one folder", spec, "api=api:1")
	spec.Path = "none"
	w.wantFault("no such folder", spec, api.ReasonFetchFailed, "none")
	w.wantFault("no such branch", api.SyncSpec{Git: o.bare, Ref: "gone"}, api.ReasonFetchFailed,
		`has no branch or tag "gone"`)

	spec.Path = ""
	if err := os.Rename(o.bare, o.bare+".away"); err != nil {
		t.Fatal(err)
	}
	w.wantFault("unreachable", spec, api.ReasonFetchFailed, "git:", o.bare)
	if _, fault := w.poll(spec); strings.Contains(fault, "Please make sure") || strings.Contains(fault, "\r") {
		t.Errorf("unreachable: %q has git's advice for any failure", fault)
	}
	if err := os.Rename(o.bare+".away", o.bare); err != nil {
		t.Fatal(err)
	}
	w.want("back", spec, "api=api:1 web=web:3")
}

// TestAnUnchangedRepositoryIsNotFetched: a poll asks for the commit and fetches only another one.
func TestAnUnchangedRepositoryIsNotFetched(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	said := filepath.Join(t.TempDir(), "said")
	lay(t, filepath.Dir(said), map[string]string{"git": "#!/bin/sh\necho \"$*\" >> " + said + "\nexec git \"$@\"\n"})
	w.syncer.Git = filepath.Join(filepath.Dir(said), "git")
	if err := os.Chmod(w.syncer.Git, 0o700); err != nil {
		t.Fatal(err)
	}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")})
	for range 3 {
		w.want("the same", api.SyncSpec{Git: o.bare}, "web=web:1")
	}
	calls, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	if fetches, asked := strings.Count(string(calls), " fetch "),
		strings.Count(string(calls), " ls-remote "); fetches != 1 || asked != 3 {
		t.Errorf("%d fetches in %d polls:\n%s", fetches, asked, calls)
	}
}

// TestAFetchThatWasCutOff: what git left behind doesn't keep the next fetch from working.
func TestAFetchThatWasCutOff(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	spec := api.SyncSpec{Git: o.bare}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")})
	w.want("the first", spec, "web=web:1")
	for _, name := range lockFiles {
		lay(t, filepath.Join(w.syncer.Folder, "uid-1", "git"), map[string]string{name: ""})
	}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:2")})
	w.want("after a cut", spec, "web=web:2")
}

// TestMissingPrograms: a source that needs a program which the machine lacks says which one, and what to do.
func TestMissingPrograms(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	w := newWorld(t)
	w.syncer.Git = "git"
	w.wantFault("no git", api.SyncSpec{Git: "https://example.com/x.git"}, api.ReasonFetchFailed,
		"needs the program git", "install git")
	lay(t, folder,
		map[string]string{"git": "#!/bin/sh\necho 'error: cannot run ssh: No such file or directory' >&2\nexit 128\n"})
	if err := os.Chmod(filepath.Join(folder, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.wantFault("no ssh", api.SyncSpec{Git: "ssh://git@example.com/x.git"}, api.ReasonFetchFailed,
		"needs the program ssh",
		"install openssh-client")
	lay(t, folder,
		map[string]string{"git": "#!/bin/sh\necho \"fatal: repository 'https://example.com/sshd-config/' not found\" >&2\nexit 128\n"})
	w.wantFault("a name with ssh", api.SyncSpec{Git: "https://example.com/sshd-config"}, api.ReasonFetchFailed,
		"sshd-config/' not found")
}

// TestSignatures: with allowed signers, a commit or the tag that names it has an ssh signature of one of them.
func TestSignatures(t *testing.T) {
	w, o := newWorld(t), newOrigin(t)
	keys := t.TempDir()
	for _, name := range []string{"ann", "eve"} {
		if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
			filepath.Join(keys, name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	public, err := os.ReadFile(filepath.Join(keys, "ann.pub"))
	if err != nil {
		t.Fatal(err)
	}
	signed := func(name string) []string {
		return []string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + filepath.Join(keys, name), "-c",
			"commit.gpgsign=true"}
	}
	spec := api.SyncSpec{Git: o.bare, AllowedSigners: "ann@example.org " + string(public)}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")}, signed("ann")...)
	w.want("signed", spec, "web=web:1")
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:2")})
	w.wantFault("not signed", spec, api.ReasonNotVerified, "has no signature of an allowed signer")
	w.wantFault("still not signed", spec, api.ReasonNotVerified)
	git(t, o.work, append(signed("ann"), "tag", "-s", "v2", "-m", "v2")...)
	git(t, o.work, "push", "-q", "origin", "v2")
	tagged := spec
	tagged.Ref = "v2"
	w.want("its tag is signed", tagged, "web=web:2")
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:3")}, signed("eve")...)
	w.wantFault("signed by another", spec, api.ReasonNotVerified)
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:4")}, signed("ann")...)
	w.want("signed again", spec, "web=web:4")
}

// TestAHostileRepository: what leads out of it, or reaches the host, is not applied.
func TestAHostileRepository(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	w, o := newWorld(t), newOrigin(t)
	spec := api.SyncSpec{Git: o.bare, Scopes: []string{"a"}}
	if err := os.Symlink("/etc/passwd", filepath.Join(o.work, "link")); err != nil {
		t.Fatal(err)
	}
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1")})
	w.wantFault("a link out of it", spec, api.ReasonNotAllowed,
		`entry "link" is a link to "/etc/passwd", out of the tree`)
	if err := os.Remove(filepath.Join(o.work, "link")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ text, says string }{
		"env_file": {"deployment \"a\" \"b\" {\n  image = \"x\"\n  env_file = [\"../../../../../../etc/hostname\"]\n}\n",
			"leads out of the folder of manifests"},
		"absolute": {"deployment \"a\" \"b\" {\n  image = \"x\"\n  env_file = [\"/etc/hostname\"]\n}\n",
			"/etc/hostname leads out of the folder of manifests"},
		"asset": {"asset \"a\" \"b\" {\n  passwd = file(\"/etc/passwd\")\n}\n",
			"/etc/passwd leads out of the folder of manifests"},
		"build": {"deployment \"a\" \"b\" {\n  build {}\n}\n", "a sync builds nothing"},
		"host folder": {"deployment \"a\" \"b\" {\n  image = \"x\"\n  volumes = [\"/etc:/x\"]\n}\n",
			"web.hcl:1:1: deployment/a/b: volumes reaches the host"},
		"variable": {"deployment \"a\" \"b\" {\n  image = \"${HOME}\"\n}\n", "HOME"},
	} {
		o.commit(map[string]string{"web.hcl": tc.text})
		w.applied = ""
		if _, fault := w.poll(spec); !strings.Contains(fault, tc.says) || w.applied != "" ||
			strings.Contains(fault, os.Getenv("HOME")+"\"") {
			t.Errorf("%s: %q does not say %q; applied %q", name, fault, tc.says, w.applied)
		}
	}
	w.syncer.MaxBytes = 1 << 20
	o.commit(map[string]string{"web.hcl": manifestOf("web", "web:1"), "big": strings.Repeat("0123456789abcdef", 1<<16)})
	w.wantFault("too large", spec, api.ReasonNotAllowed, "larger than 1 MiB")
}
