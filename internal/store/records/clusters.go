package records

import (
	"encoding/json"

	"tend.dev/tend/api"
)

// IndexInCluster finds the objects that are delivered to a cluster by its name.
const IndexInCluster = "objects.cluster"

// inCluster returns the cluster that an object names.
func inCluster(_ string, value any) []string {
	object, ok := value.(*api.Object)
	if !ok || !object.Kind.Delivered() {
		return nil
	}
	var spec struct {
		Cluster string `json:"cluster"`
	}
	if json.Unmarshal(object.Spec, &spec) != nil || spec.Cluster == "" {
		return nil
	}
	return []string{spec.Cluster}
}
