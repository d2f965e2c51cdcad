package verbs

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/ownership"
)

// If a deployment has an autoscale block, the autoscaler owns replicas: its manifest doesn't set them. Three rules keep
// the number from jumping when the block is added or removed:
//
//   - it is added: the same apply hands the current count, within the new bounds, over to the autoscaler;
//   - it is present: only the autoscaler scales, within its bounds. A user can take replicas over by force, and the
//     next apply of a manifest without them hands them back;
//   - it is removed: the count stays as it was, and the next manager that sets replicas meets no conflict.

const replicasField = "replicas"

func isReplicas(field string) bool { return field == replicasField }

// ReplicasHolder returns the manager, other than the autoscaler, that has set an object's replicas; empty if none has.
func ReplicasHolder(object api.Object) string {
	spec, err := ownership.Parse(object.Spec)
	if err != nil {
		return ""
	}
	owners, err := ownership.Blame(ownership.Stored{Spec: spec, Fields: object.Metadata.Fields,
		Since: object.Metadata.UpdatedAt})
	if err != nil {
		return ""
	}
	for _, owner := range owners {
		if owner.Path == replicasField && owner.Manager != api.ManagerAutoscaler {
			return owner.Manager
		}
	}
	return ""
}

// handOver gives the current count to the autoscaler if an apply of an autoscaled deployment sets none.
func (o owned) handOver(old api.Object, now time.Time) (owned, error) {
	if o.object.Kind != api.KindDeployment || old.Kind == "" {
		return o, nil
	}
	spec, err := api.DecodeSpec[api.DeploymentSpec](o.object)
	if err != nil || spec.Autoscale == nil || spec.Replicas != nil {
		return o, nil //nolint:nilerr // validation refuses such a spec, or it sets the count itself
	}
	before, err := api.DecodeSpec[api.DeploymentSpec](old)
	if err != nil {
		return o, nil //nolint:nilerr // a spec that can't be read has no count to hand over
	}
	low, high := spec.Autoscale.Bounds()
	count := min(max(before.ReplicaCount(), low), high)
	if count == low {
		return o, nil // the default
	}
	next := o.object
	if next.Spec, err = withField(next.Spec, replicasField, json.RawMessage(strconv.Itoa(count))); err != nil {
		return o, err
	}
	given, err := FieldManager{Manager: api.ManagerAutoscaler, Actor: "handed over by apply"}.own(o.object,
		next, now, isReplicas)
	if err != nil {
		return o, err
	}
	o.object = given.object
	o.changes, err = changesBetween(old, o.object)
	return o, err
}

func changesBetween(old, next api.Object) ([]api.FieldChange, error) {
	before, err := ownership.Parse(old.Spec)
	if err != nil {
		return nil, err
	}
	after, err := ownership.Parse(next.Spec)
	if err != nil {
		return nil, err
	}
	return diff("", before, after, nil), nil
}

// withoutLapsed drops the conflict over replicas with an autoscaler the object doesn't have any more.
func withoutLapsed(object api.Object, conflicts []api.FieldConflict) []api.FieldConflict {
	return slices.DeleteFunc(conflicts, func(c api.FieldConflict) bool {
		return c.Path == replicasField && c.Manager == api.ManagerAutoscaler && !autoscaled(object)
	})
}

func autoscaled(object api.Object) bool {
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	return err == nil && object.Kind == api.KindDeployment && spec.Autoscale != nil
}

// checkScale checks who may set which count.
func checkScale(object api.Object, spec api.DeploymentSpec, replicas int, by FieldManager) error {
	scaler := by.manager() == api.ManagerAutoscaler
	if spec.Autoscale == nil {
		if scaler {
			return invalid("declare autoscale, or scale as another manager", "%s has no autoscale", object.Ref())
		}
		return nil
	}
	low, high := spec.Autoscale.Bounds()
	switch {
	case replicas < low || replicas > high:
		return invalid("change autoscale.min or autoscale.max in the manifest and apply it",
			"autoscale keeps %s between %d and %d replicas", object.Ref(), low, high)
	case scaler || by.ForceConflicts:
		return nil
	}
	return &Error{Reason: FieldOwned,
		Detail: "the autoscaler chooses the replicas of " + object.Ref().String() + ", between " + strconv.Itoa(low) +
			" and " + strconv.Itoa(high),
		Next: "change autoscale.min and autoscale.max in the manifest and apply it, or take replicas over with --force-conflicts " +
			"until the manifest is applied again"}
}
