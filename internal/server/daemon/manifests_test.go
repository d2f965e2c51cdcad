package daemon

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func syncRef(name string) api.Ref {
	return api.Ref{Kind: api.KindSync, Scope: api.Unscoped, Name: name}
}

// lay writes a file of a source. Its time is in the past, so that it does not count as still being written.
func lay(t *testing.T, folder, name, text string) {
	t.Helper()
	at := filepath.Join(folder, name)
	past := time.Now().Add(-time.Minute)
	for _, err := range []error{os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600),
		os.Chtimes(at, past, past)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func deploymentText(name, image string) string {
	return `deployment "shop" "` + name + `" {
  image = "` + image + `"
  strategy {
    pause = "1ms"
    monitor = "1ms"
  }
}
`
}

// synced polls a source at once, waits for the result, and returns the status and its condition.
func (r *running) synced(name string) (api.SyncStatus, api.Condition) {
	r.t.Helper()
	asked, err := r.client.SyncNow(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	var status api.SyncStatus
	r.untilWithin(time.Minute, "the source of "+name+" is polled", func() bool {
		status = r.syncStatus(name)
		return status.ObservedRevision >= asked.Revision
	})
	return status, *api.FindCondition(status.Conditions, api.ConditionReady)
}

func (r *running) syncStatus(name string) api.SyncStatus {
	object, err := r.client.Object(r.t.Context(), syncRef(name))
	if err != nil {
		return api.SyncStatus{}
	}
	status, err := api.DecodeStatus[api.SyncStatus](object)
	if err != nil {
		r.t.Fatal(err)
	}
	return status
}

// wantSynced polls, and checks the reason and the message.
func (r *running) wantSynced(name, what, reason string, says ...string) api.SyncStatus {
	r.t.Helper()
	status, ready := r.synced(name)
	if ready.Reason != reason || (ready.Status == api.ConditionTrue) != (reason == api.ReasonApplied) {
		r.t.Fatalf("%s: %+v, want %s", what, ready, reason)
	}
	said := ready.Message + "\nNext: " + ready.Next
	for _, text := range says {
		if !strings.Contains(said, text) {
			r.t.Errorf("%s: %q does not say %q", what, said, text)
		}
	}
	return status
}

// deployed returns the images of the deployments there are, by name, as name=image.
func (r *running) deployed() string {
	r.t.Helper()
	list, err := r.client.Objects(r.t.Context(), api.KindDeployment, client.ObjectFilter{})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, object := range list.Items {
		spec, err := api.DecodeSpec[api.DeploymentSpec](object)
		if err != nil {
			r.t.Fatal(err)
		}
		if !object.Metadata.Deleting() {
			out = append(out, object.Name+"="+spec.Image)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (r *running) wantDeployed(when, want string) {
	r.t.Helper()
	if got := r.deployed(); got != want {
		r.t.Errorf("%s: %q is deployed, want %q", when, got, want)
	}
}

// TestAFolderOfManifestsIsKeptApplied follows a folder that --manifests names: applied, changed, broken, repaired, a
// file removed, something deleted by hand, the folder unreadable and gone, the flag left out and back.
func TestAFolderOfManifestsIsKeptApplied(t *testing.T) {
	t.Parallel()
	m, folder := newMachine(t), t.TempDir()
	for _, image := range []string{"web:1", "web:2", "api:1"} {
		m.engine.AddImage(image)
	}
	lay(t, folder, "web.hcl", deploymentText("web", "web:1"))
	lay(t, folder, "more/api.hcl", deploymentText("api", "api:1"))
	r := m.startWith(func(o *Options) { o.Manifests = folder }).ready()
	r.untilWithin(time.Minute, "the folder is applied by itself",
		func() bool { return r.deployed() == "api=api:1 web=web:1" })
	r.converged(api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}, 0)
	r.apply(manifestOf(web, nil)) // of a person, in another scope
	first := r.wantSynced(api.ServerSync, "unchanged", api.ReasonApplied, "2 objects")
	if first.Revision == "" || len(first.Changes) != 2 {
		t.Errorf("%+v", first)
	}
	if again := r.wantSynced(api.ServerSync, "still unchanged", api.ReasonApplied); again.Revision != first.Revision ||
		!again.AppliedAt.Equal(first.AppliedAt) {
		t.Errorf("an unchanged folder was applied again: %+v", again)
	}

	lay(t, folder, "web.hcl", deploymentText("web", "web:2"))
	lay(t, folder, "more/api.hcl", "deployment \"shop\" \"api\" {\n  image = 1 +\n}\n")
	broken := r.wantSynced(api.ServerSync, "broken", api.ReasonInvalidManifests, "more/api.hcl:2:", "Next: ")
	if broken.Revision != first.Revision || broken.Fetched == "" {
		t.Errorf("%+v", broken)
	}
	r.wantDeployed("one file is broken: nothing of the folder is applied", "api=api:1 web=web:1 web=web:1")
	lay(t, folder, "more/api.hcl", deploymentText("api", "api:1"))
	r.wantSynced(api.ServerSync, "repaired", api.ReasonApplied)
	r.wantDeployed("repaired", "api=api:1 web=web:1 web=web:2")

	if err := os.Remove(filepath.Join(folder, "more/api.hcl")); err != nil {
		t.Fatal(err)
	}
	pruned := r.wantSynced(api.ServerSync, "a file was removed", api.ReasonApplied, "1 object")
	r.wantDeployed("it is pruned, and what a person applied is not", "web=web:1 web=web:2")
	if len(pruned.Changes) != 1 || pruned.Changes[0].Action != api.ActionPruned {
		t.Errorf("%+v", pruned.Changes)
	}
	if _, err := r.client.Delete(t.Context(), api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	r.untilWithin(time.Minute, "what was deleted by hand is made again",
		func() bool { return r.deployed() == "web=web:1 web=web:2" })

	if err := os.Rename(filepath.Join(folder, "web.hcl"), filepath.Join(folder, "web.txt")); err != nil {
		t.Fatal(err)
	}
	r.wantSynced(api.ServerSync, "empty", api.ReasonInvalidManifests, "nothing was pruned")
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	r.wantSynced(api.ServerSync, "gone", api.ReasonFetchFailed, "no such file or directory", "Next: ")
	r.wantDeployed("a folder that is gone prunes nothing", "web=web:1 web=web:2")

	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = m.startWith(func(*Options) {}).ready()
	r.untilWithin(time.Minute, "the sync goes with the flag", func() bool {
		_, err := r.client.Object(t.Context(), syncRef(api.ServerSync))
		return client.IsNotFound(err)
	})
	r.wantDeployed("what it applied stays", "web=web:1 web=web:2")

	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	lay(t, folder, "api.hcl", deploymentText("api", "api:1")) // where the other file was
	r = m.startWith(func(o *Options) { o.Manifests = folder }).ready()
	r.untilWithin(time.Minute, "the flag is back: what the folder created and no longer has goes",
		func() bool { return r.deployed() == "api=api:1 web=web:1" })
}
