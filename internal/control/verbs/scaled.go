package verbs

import (
	"encoding/json"
	"strconv"

	"tend.dev/tend/api"
)

// noReplicas is the value of StampScaled on an object whose manifest names no replicas.
const noReplicas = "true"

// declaredReplicas returns the value of StampScaled: the replicas of the manifest that was applied last.
func declaredReplicas(object api.Object, spec api.DeploymentSpec) string {
	if declared := object.Metadata.Stamps[api.StampScaled]; declared != "" {
		return declared
	}
	if spec.Replicas == nil || ReplicasHolder(object) != api.ManagerApply {
		return noReplicas
	}
	return strconv.Itoa(*spec.Replicas)
}

// keepScale returns the declared object with the count of the last `tend scale` if it sets no replicas. So a manifest
// without replicas doesn't reset them, and one with replicas sets them again. A declared autoscale decides by itself.
func keepScale(old, declared api.Object) (api.Object, error) {
	if old.Metadata.Stamps[api.StampScaled] == "" {
		return declared, nil
	}
	was, err := api.DecodeSpec[api.DeploymentSpec](old)
	if err != nil {
		return declared, nil //nolint:nilerr // what is declared replaces what can't be read
	}
	is, err := api.DecodeSpec[api.DeploymentSpec](declared)
	if err != nil || !uncounted(is) || was.Replicas == nil {
		return declared, nil //nolint:nilerr // validation says what is wrong with what is declared
	}
	declared.Spec, err = withField(declared.Spec, "replicas", json.RawMessage(strconv.Itoa(*was.Replicas)))
	return declared, err
}

// yields reports whether the count that an object has gives way to a spec without one: it is global, or its autoscaler
// has the count from then on. What another manager's manifest says stays.
func yields(old, declared api.Object) bool {
	is, err := api.DecodeSpec[api.DeploymentSpec](declared)
	if old.Kind != api.KindDeployment || err != nil || is.Replicas != nil {
		return false
	}
	holder, scaled := ReplicasHolder(old), old.Metadata.Stamps[api.StampScaled] != ""
	return is.Global() && (scaled || holder == "" || holder == api.ManagerReleased) ||
		is.Autoscale != nil && scaled && holder == api.ManagerApply
}

// isScaled reports whether the object's replicas are those of a `tend scale` once declared is stored.
func isScaled(old, declared api.Object) bool {
	is, err := api.DecodeSpec[api.DeploymentSpec](declared)
	return err == nil && uncounted(is) && old.Metadata.Stamps[api.StampScaled] != ""
}

// uncounted reports whether a spec neither names a count nor leaves it to the autoscaler or to the nodes.
func uncounted(spec api.DeploymentSpec) bool {
	return spec.Replicas == nil && spec.Autoscale == nil && !spec.Global()
}
