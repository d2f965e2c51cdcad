package api

import (
	"net/netip"
	"reflect"
	"time"
)

// NodeStatus holds the facts an agent reports of its machine. Key /actual/nodes/<id>; that agent alone writes it.
type NodeStatus struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
	// Labels holds the labels that the agent was started with.
	Labels map[string]string `json:"labels,omitempty"`
	// Arch and OS are the machine's, as Go names them: amd64, linux.
	Arch string `json:"arch,omitempty"`
	OS   string `json:"os,omitempty"`
	// Runtime is docker, process or hollow; RuntimeVersion is the engine's own.
	Runtime        string `json:"runtime"`
	RuntimeVersion string `json:"runtimeVersion,omitempty"`
	// EngineID is the engine's own id, which no other engine has; empty where the runtime has none.
	EngineID string `json:"engineID,omitempty"`
	// Ready is set while the runtime answers. Reason and Message explain why it doesn't.
	Ready   bool   `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Version is Tend's on the machine.
	Version string `json:"version,omitempty"`
	// Address is the machine's address for other nodes. RelayPort is the TCP port for their connections to its pods; 0
	// if it takes none.
	Address     netip.Addr `json:"address,omitzero"`
	RelayPort   uint16     `json:"relayPort,omitempty"`
	CPUs        float64    `json:"cpus,omitempty"`
	MemoryBytes int64      `json:"memoryBytes,omitempty"`
	// Quarantined lists what the node leaves alone: containers that carry this cluster's labels but whose task the store
	// doesn't know, or that the engine can't inspect, and the paths of files below the root that aren't Tend's or can't be
	// read.
	Quarantined []string    `json:"quarantined,omitempty"`
	Conditions  []Condition `json:"conditions,omitempty"`
	StartedAt   time.Time   `json:"startedAt,omitzero"`
}

// Observes reports whether the runtime has answered the agent since that was started. Before, nothing is known of the
// containers but what an earlier life of the agent reported.
func (s NodeStatus) Observes() bool { return s.Ready || s.Runtime != "" }

// NodeLosses are a node's losses within the last hour. Key /losses/<node>; the controller of flapping nodes writes it,
// and uncordon deletes it.
type NodeLosses struct {
	// At are the times, oldest first.
	At []time.Time `json:"at,omitempty"`
	// Lost is set while the last of them lasts.
	Lost bool `json:"lost,omitempty"`
	// Until is the time from which the node gets pods again; zero if it gets them now.
	Until time.Time `json:"until,omitzero"`
}

// The states of a node, as the control plane judges them.
const (
	NodeUp     = "up"
	NodeSilent = "silent"
	NodeLost   = "lost"
)

// NodeState holds what the control plane knows of a node. Each change of it is an event. Key /nodes/<node>; the
// controller of flapping nodes writes it.
type NodeState struct {
	// State is NodeUp, NodeSilent while no server hears the node, or NodeLost once it has not answered for the node
	// timeout; ChangedAt is since when.
	State     string    `json:"state"`
	ChangedAt time.Time `json:"changedAt"`
	// Ready, Reason, Version and Address are those of its last report.
	Ready   bool       `json:"ready"`
	Reason  string     `json:"reason,omitempty"`
	Version string     `json:"version,omitempty"`
	Address netip.Addr `json:"address,omitzero"`
	// Losses is the number of times it was lost within the last hour; set while it gets no new pods because of that,
	// until Until.
	Losses int       `json:"losses,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// ImageRequest asks agents to resolve, and if absent pull, the image of a workload. Key /images/<kind>/<scope>/<name>;
// the workload's controller writes it.
type ImageRequest struct {
	Owner Ref `json:"owner"`
	// OwnerUID is the owner's uid: an answer counts only for the object that asked.
	OwnerUID string `json:"ownerUID,omitempty"`
	Image    string `json:"image"`
	// Nonce changes to ask for another attempt at the same reference.
	Nonce string `json:"nonce,omitempty"`
	// Runtime is the kind of runtime that the pods need: containers or processes; empty is any. Only nodes of that kind
	// are asked.
	Runtime string `json:"runtime,omitempty"`
	// Confined: the pull may not have the node call its own machine, link or networks of its own.
	Confined bool `json:"confined,omitempty"`
	// Build describes the build of an image that the node doesn't have. Such an image is never pulled.
	Build *ImageBuild `json:"build,omitempty"`
	// Trace is the trace of the request.
	Trace *Trace `json:"trace,omitempty"`
}

// Equal reports whether two requests ask for the same.
func (r ImageRequest) Equal(other ImageRequest) bool {
	return r.Owner == other.Owner && r.OwnerUID == other.OwnerUID && r.Image == other.Image && r.Nonce == other.Nonce &&
		r.Runtime == other.Runtime && r.Confined == other.Confined && reflect.DeepEqual(r.Build, other.Build)
}

// ImageState is a node's progress with an image.
type ImageState string

// The states of an image on a node.
const (
	ImagePulling ImageState = "pulling"
	ImagePresent ImageState = "present"
	ImageFailed  ImageState = "failed"
	// ImageBuilding: it is made from a source tree, or waits for its turn.
	ImageBuilding ImageState = "building"
)

// ImageStatus is a node's answer to an ImageRequest. Key /actual/images/<node>/<kind>/<scope>/<name>; the node's agent
// alone writes it. It follows the tag: when the local tag moves to another image, the answer moves too.
type ImageStatus struct {
	Owner Ref `json:"owner"`
	// OwnerUID, Image and Nonce are those of the request it answers; see Answers.
	OwnerUID string     `json:"ownerUID,omitempty"`
	Node     string     `json:"node"`
	Image    string     `json:"image"`
	Nonce    string     `json:"nonce,omitempty"`
	State    ImageState `json:"state"`
	ImageID  string     `json:"imageID,omitempty"`
	Digest   string     `json:"digest,omitempty"`
	// Arch is the image's architecture as Go names it; empty where it isn't known.
	Arch string `json:"arch,omitempty"`
	// Runtime is the name of the node's runtime, as NodeStatus has it. Plain processes can't use an image of a
	// container engine.
	Runtime string `json:"runtime,omitempty"`
	// Reason and Message say why a pull failed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Next is the step that helps, where it is known.
	Next string `json:"next,omitempty"`
	// Progress is 0 to 100 while pulling, -1 where the size is unknown.
	Progress int `json:"progress,omitempty"`
	// Step is the current step of a build: "3/7 RUN go build …". Log has the last lines of a failed build.
	Step string   `json:"step,omitempty"`
	Log  []string `json:"log,omitempty"`
	// Attempts counts failed pulls in a row; RetryAt is when the agent tries again.
	Attempts  int       `json:"attempts,omitempty"`
	RetryAt   time.Time `json:"retryAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Answers reports whether s answers request, one of its owner: for the same object, image and try.
func (s ImageStatus) Answers(request ImageRequest) bool {
	return s.OwnerUID == request.OwnerUID && s.Image == request.Image && s.Nonce == request.Nonce
}

// FoundBy returns the name of the runtime that has the image; empty is unknown.
func (s ImageStatus) FoundBy() string { return runtimeOf(s.Runtime, s.Arch, s.Digest) }

// Frozen marks a slot an operator stopped on purpose. Key /frozen/<kind>/<scope>/<name>/<slot>; the API writes it.
type Frozen struct {
	Slot string    `json:"slot"`
	By   string    `json:"by,omitempty"`
	At   time.Time `json:"at"`
}

// Hold marks an object that a plugin's call works on: its pods that are stopped or removed by hand stay so until the
// call ends. Key /holds/<scope>/<name>/<call>, bound to a lease; the API writes it.
type Hold struct {
	Plugin  string    `json:"plugin"`
	Command string    `json:"command"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
}
