package api

import "time"

// NodeDisk lists the data on the disk of a node.
type NodeDisk struct {
	Node string `json:"node"`
	// Message is the reason why the node's answer is incomplete. Empty fields are then unknown.
	Message string `json:"message,omitempty"`
	// SizeBytes and FreeBytes are those of the disk with images and volumes; 0 where it can't be seen.
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	FreeBytes int64 `json:"freeBytes,omitempty"`
	// Short is set while that disk has so little room that images nothing refers to go early.
	Short bool `json:"short,omitempty"`
	// Images and Volumes are all of the engine's, Logs those of Tend's containers, Root what Tend itself keeps on the
	// node: the store, files, builds.
	Images  DiskUse `json:"images"`
	Volumes DiskUse `json:"volumes"`
	Logs    DiskUse `json:"logs"`
	Root    DiskUse `json:"root"`
	// Surplus are the images that Tend pulled or built and that nothing refers to.
	Surplus []SurplusImage `json:"surplus,omitempty"`
}

// DiskUse is the number and the size of things of one kind.
type DiskUse struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// SurplusImage is an image that nothing refers to.
type SurplusImage struct {
	Image string `json:"image"`
	// Bytes is the size of the image; layers that it shares with others stay.
	Bytes int64 `json:"bytes"`
	// Since is the start of the wait for its removal; the zero time before that.
	Since time.Time `json:"since,omitzero"`
	// Removed is set by a prune.
	Removed bool `json:"removed,omitempty"`
}

// Reclaimable returns the size of what nothing refers to: the most that a prune frees.
func (d NodeDisk) Reclaimable() (bytes int64) {
	for _, image := range d.Surplus {
		bytes += image.Bytes
	}
	return bytes
}
