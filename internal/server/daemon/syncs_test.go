package daemon

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// repository is a bare repository, with a clone of it to work in.
type repository struct {
	t          *testing.T
	bare, work string
}

func newRepository(t *testing.T) repository {
	r := repository{t, filepath.Join(t.TempDir(), "shop.git"), filepath.Join(t.TempDir(), "work")}
	r.git(t.TempDir(), "init", "-q", "--bare", "-b", "main", r.bare)
	r.git(t.TempDir(), "init", "-q", "-b", "main", r.work)
	return r
}

func (r repository) git(folder string, args ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git",
		append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// push writes a file, or removes it if the text is empty, and pushes a commit to a branch.
func (r repository) push(name, text string) string {
	r.t.Helper()
	at := filepath.Join(r.work, name)
	err := os.WriteFile(at, []byte(text), 0o600)
	if text == "" {
		err = os.Remove(at)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.git(r.work, "add", "-A")
	r.git(r.work, "commit", "-q", "-m", "change")
	r.git(r.work, "push", "-q", "--force", r.bare, "HEAD:main")
	return r.git(r.work, "rev-parse", "HEAD")
}

// sync declares a sync as a user does.
func (r *running) sync(name string, spec api.SyncSpec) {
	r.t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	ref := syncRef(name)
	r.apply(api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw})
}

// TestARepositoryIsKeptApplied, over etcd and hollow containers: commit, tag, forced push, unreachable; a field that a
// person set; the sync removed, and made again under its name. The interval is long: each poll is one that the test
// asks for.
func TestARepositoryIsKeptApplied(t *testing.T) {
	m, repo := newMachine(t), newRepository(t)
	for _, image := range []string{"web:1", "web:2", "web:3", "api:1"} {
		m.engine.AddImage(image)
	}
	r := m.startWith(func(o *Options) { o.Store = nil }).ready() // its own etcd
	first := repo.push("web.hcl", deploymentText("web", "web:1"))
	repo.git(repo.work, "tag", "v1")
	repo.git(repo.work, "push", "-q", repo.bare, "v1")
	r.sync("shop", api.SyncSpec{Git: repo.bare, Scopes: []string{"shop"}, Interval: "24h", Prune: true})
	if status := r.wantSynced("shop", "a commit", api.ReasonApplied, "1 object"); status.Revision != first {
		t.Errorf("revision %s, want %s", status.Revision, first)
	}
	r.converged(api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}, 0)
	repo.push("web.hcl", deploymentText("web", "web:2"))
	third := repo.push("api.hcl", deploymentText("api", "api:1"))
	if status := r.wantSynced("shop", "two more commits", api.ReasonApplied); status.Revision != third ||
		len(status.Changes) != 2 {
		t.Errorf("%+v, want %s", status, third)
	}
	r.wantDeployed("two more commits", "api=api:1 web=web:2")
	r.sync("shop", api.SyncSpec{Git: repo.bare, Scopes: []string{"shop"}, Interval: "24h", Prune: true, Ref: "v1"})
	r.wantSynced("shop", "a tag", api.ReasonApplied)
	r.wantDeployed("a tag: what came later is pruned", "web=web:1")
	repo.git(repo.work, "reset", "-q", "--hard", first)
	repo.push("web.hcl", deploymentText("web", "web:3"))
	r.sync("shop", api.SyncSpec{Git: repo.bare, Scopes: []string{"shop"}, Interval: "24h", Prune: true})
	r.wantSynced("shop", "a forced push", api.ReasonApplied)
	r.wantDeployed("a forced push", "web=web:3")

	if err := os.Rename(repo.bare, repo.bare+".away"); err != nil {
		t.Fatal(err)
	}
	r.wantSynced("shop", "unreachable", api.ReasonFetchFailed, "git:")
	r.wantDeployed("unreachable", "web=web:3")
	if err := os.Rename(repo.bare+".away", repo.bare); err != nil {
		t.Fatal(err)
	}
	last := r.wantSynced("shop", "back", api.ReasonApplied)

	r.personSets(t)
	repo.push("api.hcl", deploymentText("api", "api:1"))
	conflict := r.wantSynced("shop", "a person owns the image", api.ReasonFieldOwned, "web.hcl:2:", "image",
		"Next: leave image out of the source")
	if conflict.Revision != last.Revision {
		t.Errorf("%+v", conflict)
	}
	r.wantDeployed("a conflict: nothing of the revision is applied", "web=web:1")
	repo.push("web.hcl", deploymentText("web", "web:1"))
	r.wantSynced("shop", "the source agrees", api.ReasonApplied, "2 objects")

	if _, err := r.client.Delete(t.Context(), syncRef("shop")); err != nil {
		t.Fatal(err)
	}
	r.until("the sync is gone", func() bool { _, err := r.client.Object(t.Context(), syncRef("shop")); return client.IsNotFound(err) })
	r.wantDeployed("what it applied stays", "api=api:1 web=web:1")
	repo.push("api.hcl", "")
	r.sync("shop", api.SyncSpec{Git: repo.bare, Scopes: []string{"shop"}, Interval: "24h", Prune: true})
	r.wantSynced("shop", "another sync of the name", api.ReasonApplied, "1 object")
	r.wantDeployed("it prunes nothing that another one created", "api=api:1 web=web:1")
}

// personSets lets a person take over the image of the deployment.
func (r *running) personSets(t *testing.T) {
	t.Helper()
	object := manifestOf(api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}, nil)
	if _, err := r.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{object}}); err == nil {
		t.Error("the sync's image was overwritten without force")
	}
	if _, err := r.client.Apply(t.Context(),
		api.ApplyRequest{Objects: []api.Object{object}, ForceConflicts: true}); err != nil {
		t.Fatal(err)
	}
}
