package api

import (
	"encoding/json"
	"time"
)

// ManagerApply is the role of everything people send: apply, scale, rollback. Managers are roles, not people, so that
// two people who apply the same file don't stand in each other's way.
const ManagerApply = "apply"

// ManagerApproval is the role that approves operations: a file that is applied again takes no approval back.
const ManagerApproval = "approve"

// ManagerAvailability is the role of cordon, drain and uncordon.
const ManagerAvailability = "availability"

// ManagerIngress is the role of tend nodes ingress.
const ManagerIngress = "ingress"

// ManagerReleased has what a manager set that no longer declares it: the next manager that declares it takes it over.
// Its actor is the former manager.
const ManagerReleased = "released"

// FieldOwner identifies the manager that set a leaf of a spec to its value. If several managers set the same value,
// the leaf has one FieldOwner for each.
type FieldOwner struct {
	// Path is in the manifest's own words: strategy.order, env.PORT. A list is one leaf.
	Path    string          `json:"path"`
	Value   json.RawMessage `json:"value"`
	Manager string          `json:"manager"`
	// Actor made the request in that role; empty if unknown.
	Actor string    `json:"actor,omitempty"`
	At    time.Time `json:"at"`
	// OrBefore is set where only the latest possible time is known: old writes of a manager are remembered together.
	OrBefore bool `json:"orBefore,omitempty"`
}

// FieldConflict is a leaf that another manager set to another value than the one asked for.
type FieldConflict struct {
	Path string `json:"path"`
	// Manager, Actor and At say who set it to Value.
	Manager string          `json:"manager"`
	Actor   string          `json:"actor,omitempty"`
	At      time.Time       `json:"at"`
	Value   json.RawMessage `json:"value"`
}
