package node

import "tend.dev/tend/api"

// Assignment is all the control plane says of one task of the node.
type Assignment struct {
	Task api.Task `json:"task"`
	// Status is the observed half as stored, where Observed.
	Status   api.TaskStatus `json:"status,omitzero"`
	Observed bool           `json:"observed,omitempty"`
	// Frozen: a person stopped the slot on purpose.
	Frozen bool `json:"frozen,omitempty"`
	// PluginAtWork: a plugin's call works on the object; what it stops stays stopped until the call ends.
	PluginAtWork bool `json:"pluginAtWork,omitempty"`
	// PredecessorOpen: the task named by Task.After exists and has not reported its end.
	PredecessorOpen bool `json:"predecessorOpen,omitempty"`
	// CallsBack: its container may call the server back: see api.Object.CallsBack.
	CallsBack bool `json:"callsBack,omitempty"`
}

// Serves reports whether the task's pod may get requests when it is as a status says.
func (a Assignment) Serves(status api.TaskStatus) bool {
	return a.Task.Desired == api.DesiredRunning && !a.Frozen && status.State == api.TaskRunning && status.Ready
}

// Release holds all that a container is made from. It holds secrets in plain text.
type Release struct {
	ID string `json:"id"`
	// Fingerprint is api.Release.Fingerprint.
	Fingerprint string             `json:"fingerprint"`
	Spec        api.DeploymentSpec `json:"spec"`
	// Dotted replaces the object's name in the containers' names: see api.StampDotted. Default: that name.
	Dotted string `json:"dotted,omitempty"`
	// Claims are the volumes of a statefulset's ordinals.
	Claims      []api.VolumeClaim `json:"claims,omitempty"`
	Image       string            `json:"image"`
	ImageID     string            `json:"imageId,omitempty"`
	ImageDigest string            `json:"imageDigest,omitempty"`
	// Built: the image was made from source; no registry has it.
	Built bool `json:"built,omitempty"`
	// Confined: it runs only where a runtime isolates it from the machine.
	Confined bool `json:"confined,omitempty"`
	// Scope is the scope of the tasks. The node sets it.
	Scope string `json:"-"`
	// AssetDigests are the digests of the files the spec refers to, by api.AssetReference.
	AssetDigests map[string]string `json:"assetDigests,omitempty"`
	// Env is the merged environment in plain text.
	Env map[string]string `json:"env,omitempty"`
	// SecretFiles are the contents of the files that Spec.SecretFiles declares, by their path.
	SecretFiles map[string]string `json:"secretFiles,omitempty"`
	// CallbackPath is the path, below their machine's own URL, at which containers call the server. It proves their
	// identity. Empty: they don't call it.
	CallbackPath string `json:"callbackPath,omitempty"`
}

// ImageAssignment is a request for an image, where Requested, with this node's answer as stored, where Answered.
type ImageAssignment struct {
	Request   api.ImageRequest `json:"request,omitzero"`
	Requested bool             `json:"requested,omitempty"`
	Status    api.ImageStatus  `json:"status,omitzero"`
	Answered  bool             `json:"answered,omitempty"`
}

// FoundImage is an image that a node has, by a name that it was asked about.
type FoundImage struct {
	ID string `json:"id"`
	// Digest, Arch and Runtime are those of an api.ImageStatus.
	Digest  string `json:"digest,omitempty"`
	Arch    string `json:"arch,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

// Registry holds the login of a registry, with its token in plain text.
type Registry struct {
	Username string `json:"username,omitempty"`
	Token    string `json:"token,omitempty"`
	// Helper is a docker-credential program of the node that knows the credentials.
	Helper string `json:"helper,omitempty"`
}

// Change names what to reconcile: a task, an image request, or every failed pull from a registry whose credentials
// changed; or that what the proxy serves may have changed.
type Change struct {
	Task     string  `json:"task,omitempty"`
	Image    api.Ref `json:"image,omitzero"`
	Registry string  `json:"registry,omitempty"` // its host
	Served   bool    `json:"served,omitempty"`
	// Network: it, or the way to another node, may have changed.
	Network bool `json:"network,omitempty"`
	// Pods: those of other nodes may have changed, or their addresses.
	Pods bool `json:"pods,omitempty"`
}

// Part is the beginning of an image's archive that a node has already. The zero value is nothing.
type Part struct {
	Size int64
	// Sum is the SHA-256 of those bytes, in hex.
	Sum string
}
