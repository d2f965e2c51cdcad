package daemon

import (
	"bytes"
	"context"
	"encoding/json"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// data is a statefulset that is created and deleted within the drill; its volumes stay.
var data = api.Ref{Kind: api.KindStatefulSet, Scope: "prod", Name: "data"}

// ordinals runs the life of a statefulset: created, updated to another version, one ordinal rebootstrapped, scaled
// down, deleted.
func (d *drill) ordinals() {
	d.t.Helper()
	d.apply(d.set("web:1", 2), 2)
	d.apply(d.set("web:3", 2), 2)
	var revision int64
	d.declare("rebootstrap", func(ctx context.Context) error {
		result, err := d.client.Rebootstrap(ctx, client.TargetOf(data), 1)
		if client.IsConflict(err) && d.deaths > 0 {
			return nil // the dead server heard it, and the ordinal is on its way out
		}
		revision = result.Revision
		return err
	})
	d.converged(data, revision, "web:3", 2)
	d.apply(d.set("web:3", 1), 1)
	d.declare("delete the statefulset", func(ctx context.Context) error {
		_, err := d.client.Delete(ctx, data)
		if client.IsNotFound(err) && d.deaths > 0 {
			return nil // the dead server heard it
		}
		return err
	})
	d.until("the statefulset is gone", func(ctx context.Context) bool {
		_, err := d.client.Object(ctx, data)
		return client.IsNotFound(err)
	})
	for ordinal := range 2 {
		if name := api.ClaimVolume(data, "files", ordinal); d.m.engine.Volumes()[name] == nil {
			d.t.Errorf("volume %s did not stay", name)
		}
	}
}

func (d *drill) set(image string, n int) api.Object {
	object := manifestOf(data, func(s *api.DeploymentSpec) { replicas(n)(s); s.Image = image })
	claims, _ := json.Marshal([]api.VolumeClaim{{Name: "files", MountPath: "/files"}})
	object.Spec = append(bytes.TrimSuffix(object.Spec, []byte("}")),
		append([]byte(`,"volume_claims":`), append(claims, '}')...)...)
	return object
}
