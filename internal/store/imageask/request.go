package imageask

import (
	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/fit"
)

// Request returns the request for the image of an object's pods. spec is the pods' spec, with the container's
// references resolved.
func Request(object api.Object, spec api.WorkloadSpec) api.ImageRequest {
	asked := api.ImageRequest{
		Owner: object.Ref(), OwnerUID: object.Metadata.UID, Nonce: object.Metadata.Stamps[api.StampPull],
		Confined: object.Confined(),
		Runtime:  string(fit.Of(spec, fit.Facts{Confined: object.Confined()}).Within(spec.Placement).Kind()),
	}
	asked.Image, asked.Build = object.WantedImage(spec.Container)
	return asked
}
