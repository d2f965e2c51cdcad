package records

import "tend.dev/tend/api"

// Found holds the report of a node on an object's image when the object was stored. It becomes the node's answer to the
// request that the object's first step writes.
type Found struct {
	Answer api.ImageStatus `json:"answer"`
}

// Found reads a node's report of an object's image, made when the object was stored.
func (s Snapshot) Found(ref api.Ref) Read[Found] { return get[Found](s, FoundKey(ref)) }
