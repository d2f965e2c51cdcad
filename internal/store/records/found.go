package records

import "tend.dev/tend/api"

// Found holds a node's word on an object's image, given as the object was stored. It becomes the node's answer with the
// request that the object's first step writes.
type Found struct {
	Answer api.ImageStatus `json:"answer"`
}

// Found reads what a node said of an object's image as the object was stored.
func (s Snapshot) Found(ref api.Ref) Read[Found] { return get[Found](s, FoundKey(ref)) }
