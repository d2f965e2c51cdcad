package api

import "time"

// The keys of a cluster that can be rotated.
const (
	// KeySecrets encrypts secrets in the store: ROOT/secret.key.
	KeySecrets = "secrets"
	// KeyNodes is the authority that issues the certificates of nodes, and those that servers show to nodes.
	KeyNodes = "nodes"
	// KeyServers is the authority of the certificates with which the stores of servers reach each other.
	KeyServers = "servers"
	// KeyIngress is the cluster's own authority for ingresses (provider = "internal").
	KeyIngress = "ingress"
)

// KeyPhase is the stage of a key's rotation.
type KeyPhase string

// The phases, in their order.
const (
	// KeySpreads: every party learns the new key, and uses the old one.
	KeySpreads KeyPhase = "Spreading"
	// KeyMoves: every party uses the new key; what the old one made is made again.
	KeyMoves KeyPhase = "Moving"
	// KeyIsForgotten: every party forgets the old key.
	KeyIsForgotten KeyPhase = "Forgetting"
)

// Key is a key of the cluster.
type Key struct {
	Name string `json:"name"`
	// What is its purpose.
	What string `json:"what"`
	// Fingerprint is the fingerprint of the current key. It doesn't reveal the key.
	Fingerprint string       `json:"fingerprint,omitempty"`
	Rotation    *KeyRotation `json:"rotation,omitempty"`
	// Note is the reason why there is no key.
	Note string `json:"note,omitempty"`
	// After lists the steps that people must take after the rotation.
	After string `json:"after,omitempty"`
}

// Keys are the keys of a cluster.
type Keys struct {
	Items []Key `json:"items"`
}

// KeyRotation is the replacement of a key, while it lasts.
type KeyRotation struct {
	Old        string    `json:"old"`
	New        string    `json:"new"`
	Phase      KeyPhase  `json:"phase"`
	StartedAt  time.Time `json:"startedAt"`
	PhaseSince time.Time `json:"phaseSince"`
	By         string    `json:"by,omitempty"`
	// Waits lists the things that the phase waits for.
	Waits []string `json:"waits,omitempty"`
}
