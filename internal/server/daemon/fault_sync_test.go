package daemon

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// TestEveryFailpointOfASync is TestEveryFailpoint for a folder that is kept applied: also a server that dies between
// an apply and the status of it leaves a status that lists what the apply changed.
func TestEveryFailpointOfASync(t *testing.T) {
	everyFailpoint(t, story{live: (*drill).liveBySync, points: 12})
}

func (d *drill) liveBySync() {
	d.t.Helper()
	for _, image := range []string{"web:1", "web:2", "api:1"} {
		d.m.engine.AddImage(image)
	}
	folder := d.t.TempDir()
	d.lay(folder, "web", "web:1")
	d.syncs(folder, "24h", 1, "web")
	d.lay(folder, "web", "web:2")
	d.lay(folder, "api", "api:1")
	d.syncs(folder, "23h", 2, "web", "api") // as a change of the sync has it polled at once
	if err := os.Remove(filepath.Join(folder, "web.hcl")); err != nil {
		d.t.Fatal(err)
	}
	d.syncs(folder, "22h", 1, "api")
	d.until("what the folder has no more is gone", func(ctx context.Context) bool {
		_, err := d.client.Object(ctx, shopRef("web"))
		return client.IsNotFound(err)
	})
}

func shopRef(name string) api.Ref {
	return api.Ref{Kind: api.KindDeployment, Scope: "shop", Name: name}
}

// lay writes the manifest of a deployment into the folder.
func (d *drill) lay(folder, name, image string) {
	d.t.Helper()
	err := os.WriteFile(filepath.Join(folder, name+".hcl"), []byte(deploymentText(name, image)), 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
}

// syncs declares the sync of a folder, and waits until its status has so many changes and its deployments run.
func (d *drill) syncs(folder string, interval api.Duration, changes int, names ...string) {
	d.t.Helper()
	raw, err := json.Marshal(api.SyncSpec{Dir: folder, Scopes: []string{"shop"}, Interval: interval, Prune: true})
	if err != nil {
		d.t.Fatal(err)
	}
	ref := syncRef("shop")
	revision := d.say(api.Object{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: raw})
	d.until("the folder is applied", func(ctx context.Context) bool {
		object, err := d.client.Object(ctx, ref)
		if err != nil {
			return false
		}
		status, err := api.DecodeStatus[api.SyncStatus](object)
		ready := api.FindCondition(status.Conditions, api.ConditionReady)
		return err == nil && status.ObservedRevision >= revision && ready != nil && ready.Reason == api.ReasonApplied &&
			len(status.Changes) == changes && status.Objects == len(names)
	})
	for _, name := range names {
		d.until(name+" runs", func(ctx context.Context) bool {
			object, err := d.client.Object(ctx, shopRef(name))
			if err != nil {
				return false
			}
			status, err := api.DecodeStatus[api.WorkloadStatus](object)
			ready := api.FindCondition(status.Conditions, api.ConditionReady)
			return err == nil && status.ObservedGeneration == object.Metadata.Generation && ready != nil &&
				ready.Status == api.ConditionTrue
		})
	}
}
