package records

import (
	"iter"

	"tend.dev/tend/api"
)

// Routed returns the objects that claim hosts: ingresses, and labs that have not ended. It skips those being deleted.
func (s Snapshot) Routed() iter.Seq[*api.Object] {
	return func(yield func(*api.Object) bool) {
		for _, kind := range []api.Kind{api.KindIngress, api.KindLab} {
			for object := range s.Objects(kind) {
				if !object.Value.Metadata.Deleting() && !s.ended(object.Value.Ref()) && !yield(object.Value) {
					return
				}
			}
		}
	}
}

// ended reports whether an object is a lab that has ended: its host is free.
func (s Snapshot) ended(ref api.Ref) bool {
	status := s.LabStatus(ref)
	return ref.Kind == api.KindLab && status.Exists() && status.Value.Phase.Ended()
}
