package api

import "time"

// DeliveryState is the stage of a webhook's call.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliveryDelivered DeliveryState = "delivered" // an answer of 200 to 299
	DeliveryFailed    DeliveryState = "failed"    // every attempt failed, or the hook is gone
)

// Delivery is one call of one webhook. It is created, if absent, in the commit that records what happened, so that it
// is sent once even if the server dies in between. It names the hook, whose URL and headers are read from the object
// when the call is made: they may be secrets.
type Delivery struct {
	// ID is unique under the owner and the same for the same event and target.
	ID    string `json:"id"`
	Kind  Kind   `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
	// Hook is the field path of the target: on_deploy.success[0].
	Hook string `json:"hook"`
	// Tokens maps each {{…}} in the body to its value.
	Tokens    map[string]string `json:"tokens"`
	State     DeliveryState     `json:"state"`
	Attempts  int               `json:"attempts,omitempty"`
	NextTryAt time.Time         `json:"nextTryAt,omitzero"`
	// StatusCode and Error are of the last attempt.
	StatusCode int       `json:"statusCode,omitempty"`
	Error      string    `json:"error,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	EndedAt    time.Time `json:"endedAt,omitzero"`
}

// Owner names the object whose hook is called.
func (d Delivery) Owner() Ref { return Ref{Kind: d.Kind, Scope: d.Scope, Name: d.Name} }
