package cli

import (
	"fmt"

	"tend.dev/tend/api"
)

// idle says of an object without pods that none is wanted, and how to get some; empty of any other.
func idle(object api.Object) string {
	if !object.Kind.HasSlots() {
		return ""
	}
	spec, err := api.DecodeWorkload(object.Kind, object.Spec)
	if err != nil || spec.ReplicaCount() != 0 {
		return ""
	}
	return fmt.Sprintf("%s is scaled to 0 and has no pods; to run one: tend scale %s 1", object.Ref(), shortName(object.Ref()))
}
