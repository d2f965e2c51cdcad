package runtime

import "time"

// EventKind is the kind of an event.
type EventKind string

// The events a runtime reports.
const (
	EventCreate  EventKind = "create"
	EventStart   EventKind = "start"
	EventDie     EventKind = "die"  // the container's process ended
	EventKill    EventKind = "kill" // the engine sent it a signal on request
	EventStop    EventKind = "stop" // it was stopped through the engine
	EventOOM     EventKind = "oom"
	EventDestroy EventKind = "destroy" // it was removed
	EventPause   EventKind = "pause"
	EventUnpause EventKind = "unpause"
	EventImage   EventKind = "image" // a tag moved, or an image came or went
)

// Event is an event of a container or an image. It triggers a reconcile and records its cause: a user or the engine.
type Event struct {
	Kind      EventKind
	Container string
	Name      string
	// Task is the container's LabelTask.
	Task     string
	Signal   string
	ExitCode int
	// Image is the reference of an EventImage.
	Image string
	At    time.Time
}
