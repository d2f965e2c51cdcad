package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/syncer"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store/records"
)

// newSyncer returns the Syncer that fetches and applies the sources of syncs.
func (d *daemon) newSyncer() *syncer.Syncer {
	return syncer.New(syncer.Options{
		Folder: filepath.Join(d.Root, "syncs"), Open: d.keys.Decrypt, Now: d.Now,
		Apply: func(ctx context.Context, objects []api.Object, opts verbs.ApplyOptions) (api.ApplyResult, error) {
			return d.verbs.Apply(ctx, objects, opts)
		},
		Stored: func(ref api.Ref) *api.Object { return d.snapshot().Object(ref).Value },
		PutBlob: func(content io.Reader, digest string) error {
			return d.files.blobs.PutAs(digest, content, api.MaxAssetBytes)
		},
	})
}

// retryManifests is the time between two tries to declare the sync of the folder.
const retryManifests = 5 * time.Second

// keepManifests declares the sync of the folder that --manifests names, or removes it if the flag is gone. The objects
// of the folder stay. It writes only within the term.
func (d *daemon) keepManifests(ctx context.Context, term *controlplane.Term) {
	select {
	case <-d.view.Synced():
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(retryManifests)
	defer tick.Stop()
	for {
		err := d.declareManifests(ctx, term)
		if err == nil || ctx.Err() != nil {
			return
		}
		d.Logger.WarnContext(ctx, "the folder of manifests can't be declared yet", "folder", d.Manifests, "error", err)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (d *daemon) declareManifests(ctx context.Context, term records.Committer) error {
	ref := api.Ref{Kind: api.KindSync, Scope: api.Unscoped, Name: api.ServerSync}
	if d.Manifests == "" {
		stored := d.snapshot().Object(ref)
		if !stored.Exists() || stored.Value.Metadata.Stamps[api.StampApplySet] != api.ManagerServer {
			return nil
		}
		_, err := d.verbs.DeleteWith(ctx, verbs.TargetOf(ref), verbs.DeleteOptions{Actor: api.ManagerServer, Through: term})
		return err
	}
	folder, err := filepath.Abs(d.Manifests)
	if err != nil {
		return err
	}
	spec, err := json.Marshal(api.SyncSpec{Dir: folder, Interval: api.Duration(api.MinSyncInterval.String()),
		Prune: true, Trusted: true})
	if err != nil {
		return fmt.Errorf("encode the sync: %w", err)
	}
	_, err = d.verbs.Apply(ctx, []api.Object{{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}},
		verbs.ApplyOptions{
			Set: api.ManagerServer,
			FieldManager: verbs.FieldManager{Manager: api.ManagerServer, Actor: api.ManagerServer,
				ForceConflicts: true, Through: term},
		})
	return err
}
