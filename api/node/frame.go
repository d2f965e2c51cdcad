package node

import "tend.dev/tend/api"

// Frame is one step of what a node follows: what changed of all it may see. Frames are applied in their order.
type Frame struct {
	// Reset begins a listing: what was known before no longer counts once a frame with a Revision ends it.
	Reset bool `json:"reset,omitempty"`
	// Revision: everything up to it was sent. 0 in the frames of a listing but for the last.
	Revision int64 `json:"revision,omitempty"`
	// Epoch names the server's life that the revisions are of, at the end of a listing: those of another may be of a
	// store that was restored since.
	Epoch  string       `json:"epoch,omitempty"`
	Tasks  []TaskEntry  `json:"tasks,omitempty"`
	Images []ImageEntry `json:"images,omitempty"`
	// Table are ingresses and certificates, all of them, where one changed.
	Table *Table `json:"table,omitempty"`
	// Services maps scope/name to each changed service; nil for a removed one.
	Services map[string]*Service `json:"services,omitempty"`
	// Network is all of it, where it changed as a whole; Peers are those that changed, nil is gone.
	Network *Network         `json:"network,omitempty"`
	Peers   map[string]*Peer `json:"peers,omitempty"`
	// Pods are all pods of the nodes where one changed; without a Network's driver there are none.
	Pods map[string]Pods `json:"pods,omitempty"`
	// Moved are the addresses that changed, by node: the scope that has one now, empty if none has. It stands for Pods
	// where little changes.
	Moved map[string]Pods `json:"moved,omitempty"`
	// Relays maps other nodes to their changed relays. A nil relay is one that the node may not know. A listing has
	// all relays.
	Relays map[string]*Relay `json:"relays,omitempty"`
	// Changes lists the objects to reconcile for this frame.
	Changes []Change `json:"changes,omitempty"`
}

// Empty reports whether a frame holds only a revision.
func (f Frame) Empty() bool {
	return !f.Reset && len(f.Tasks) == 0 && len(f.Images) == 0 && f.Table == nil && len(f.Services) == 0 &&
		f.Network == nil && len(f.Peers) == 0 && len(f.Pods) == 0 && len(f.Moved) == 0 &&
		len(f.Relays) == 0 && len(f.Changes) == 0
}

// TaskEntry is a task of the node, or one that isn't any more.
type TaskEntry struct {
	ID         string      `json:"id"`
	Assignment *Assignment `json:"assignment,omitempty"`
}

// ImageEntry is a request, or one that isn't any more.
type ImageEntry struct {
	Owner      api.Ref          `json:"owner"`
	Assignment *ImageAssignment `json:"assignment,omitempty"`
}
