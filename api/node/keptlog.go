package node

import (
	"time"

	"tend.dev/tend/api"
)

// MaxKeptLogs is the number of logs of removed containers that a node keeps for one object.
const MaxKeptLogs = 32

// KeptLog is the log of a container that was removed, as its node keeps it.
type KeptLog struct {
	// Container is the engine's id of the container, by which its node finds the log.
	Container string `json:"container"`
	// Owner is the object, OwnerUID its uid: an object of the same name that was made later has another one.
	Owner    api.Ref `json:"owner"`
	OwnerUID string  `json:"ownerUID"`
	// Slot, Run and Release are those of the container's task.
	Slot    string `json:"slot"`
	Run     string `json:"run,omitempty"`
	Release string `json:"release,omitempty"`
	// KeptAt is the time at which the log was read.
	KeptAt time.Time `json:"keptAt"`
}

// Pod is the name that the container had as a pod.
func (k KeptLog) Pod() string { return k.Owner.AppID() + "." + k.Slot }
