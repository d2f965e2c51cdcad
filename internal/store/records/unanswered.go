package records

import "tend.dev/tend/api"

// Unanswered names the nodes that were asked for an image and did not answer for a while. It belongs to one request.
type Unanswered struct {
	OwnerUID string   `json:"ownerUID,omitempty"`
	Image    string   `json:"image"`
	Nonce    string   `json:"nonce,omitempty"`
	Nodes    []string `json:"nodes"`
}

// Of reports whether the record belongs to a request.
func (u Unanswered) Of(request api.ImageRequest) bool {
	return u.OwnerUID == request.OwnerUID && u.Image == request.Image && u.Nonce == request.Nonce
}

// Unanswered reads the nodes that didn't answer a request for an object's image.
func (s Snapshot) Unanswered(ref api.Ref) Read[Unanswered] {
	return get[Unanswered](s, UnansweredKey(ref))
}
