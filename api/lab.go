package api

import "time"

// Bounds of labs.
const (
	// MinLabDuration and MaxLabDuration bound how long a lab runs; the second also with every extension.
	MinLabDuration = time.Second
	MaxLabDuration = 30 * 24 * time.Hour
	// MaxLabCount bounds the labs that one manifest declares by count.
	MaxLabCount = 500
	// MaxLabExtensions is the number of extensions that a lab remembers one by one; older ones are added up.
	MaxLabExtensions = 32
)

// LabSpec declares a time-boxed environment: a container that begins at an instant and is gone when its time is over.
type LabSpec struct {
	Container
	// Owner is the e-mail address of the person the lab is for.
	Owner string `json:"owner" hcl:"owner"`
	// Start is the time at which the lab begins, in RFC 3339. Default: at once, also for a time in the past.
	Start string `json:"start,omitempty" hcl:"start,optional"`
	// Duration is its time to run, counted from when its container runs. 1s to 720h.
	Duration Duration `json:"duration" hcl:"duration"`
	// Count declares that many labs, NAME-1 to NAME-<count>, as a class. A manifest alone has it: what is stored is
	// the labs.
	Count int `json:"count,omitempty" hcl:"count,optional"`
	// Class names the labs that belong together; `tend lab` takes it in place of a name. Set by count.
	Class string `json:"class,omitempty" hcl:"class,optional"`
	// Ports are published as docker writes them; without an address they are bound to 127.0.0.1.
	Ports []string `json:"ports,omitempty" hcl:"ports,optional"`
	// Host is a DNS name at which the proxies serve the lab while it runs. With count, -<number> is added to its
	// first label.
	Host string `json:"host,omitempty" hcl:"host,optional"`
	// Port of the container that Host leads to. Default: the container side of the first port, else 80.
	Port int `json:"port,omitempty" hcl:"port,optional"`
}

// StartsAt is Start, or the zero time if the lab begins at once.
func (s LabSpec) StartsAt() time.Time {
	at, err := time.Parse(time.RFC3339, s.Start)
	if err != nil {
		return time.Time{} // it is absent: validation has refused any other
	}
	return at.UTC()
}

// Workload returns what the lab runs, in the form that all kinds with containers share.
func (s LabSpec) Workload() DeploymentSpec {
	return DeploymentSpec{Container: s.Container, Ports: s.Ports}
}

// Route returns the ingress that the lab's host stands for; false if it has none.
func (s LabSpec) Route() (IngressSpec, bool) {
	route := IngressSpec{Host: s.Host, Port: s.Port}
	route.Port = route.PortOf(s.Workload())
	return route, s.Host != ""
}

// LabPhase is a phase in the life of a lab.
type LabPhase string

// The phases of a lab. It moves forward only; see internal/core/lab for the moves.
const (
	LabPending      LabPhase = "PENDING"      // its instant has not come, or nothing can run it yet
	LabProvisioning LabPhase = "PROVISIONING" // a node makes its container
	LabRunning      LabPhase = "RUNNING"      // its container runs, and its time with it
	LabCompleted    LabPhase = "COMPLETED"    // its container ended with 0, or a person stopped it
	LabFailed       LabPhase = "FAILED"       // its container ended otherwise, or its node was lost
	LabTimeout      LabPhase = "TIMEOUT"      // its time was over
)

// Ended reports whether the phase is final.
func (p LabPhase) Ended() bool { return p == LabCompleted || p == LabFailed || p == LabTimeout }

// LabStatus is the status of a lab. Its controller alone writes it.
type LabStatus struct {
	// ObservedGeneration and ObservedRevision say which write of the object this status describes.
	ObservedGeneration int64    `json:"observedGeneration"`
	ObservedRevision   int64    `json:"observedRevision"`
	Phase              LabPhase `json:"phase"`
	// Reason and Message say why it is in its phase, or why it still waits.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// StartsAt is the time at which the lab begins; absent means at once. EndsAt is the end of its time; absent before
	// it runs.
	StartsAt time.Time `json:"startsAt,omitzero"`
	EndsAt   time.Time `json:"endsAt,omitzero"`
	// StartedAt is the time at which it first was RUNNING, CompletedAt the time of its end.
	StartedAt   time.Time `json:"startedAt,omitzero"`
	CompletedAt time.Time `json:"completedAt,omitzero"`
	// Extended is the time that people have added to the duration.
	Extended Duration `json:"extended,omitempty"`
	// AccessURL is the lab's URL while it runs.
	AccessURL string `json:"accessUrl,omitempty"`
	// Task, Pod, Node and Container are those of its container, also after its end.
	Task      string `json:"task,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Node      string `json:"node,omitempty"`
	Container string `json:"container,omitempty"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	// LastLog holds the last lines of a container that failed, at most 20.
	LastLog []string `json:"lastLog,omitempty"`
	// Failures counts the containers that could not be started; RetryAt is when the next one is made.
	Failures int       `json:"failures,omitempty"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
	// LastFailure is the cause of the last failed start; empty once one runs.
	LastFailure string `json:"lastFailure,omitempty"`
	// Release is the snapshot that it runs; Image and ImageID what that contains.
	Release           string      `json:"release,omitempty"`
	Image             string      `json:"image,omitempty"`
	ImageID           string      `json:"imageID,omitempty"`
	LastReleaseNumber int         `json:"lastReleaseNumber,omitempty"`
	Conditions        []Condition `json:"conditions,omitempty"`
}

// LabOrders holds the requests of people since the lab was declared: more time, or its end. As a record of its own it
// leaves the spec as it was applied, and applying the spec again revokes nothing. The API alone writes it.
type LabOrders struct {
	// OwnerUID is the uid of the lab: one that was deleted and declared again has no orders.
	OwnerUID string `json:"ownerUID"`
	// Extended is the sum of all extensions.
	Extended time.Duration `json:"extended,omitempty"`
	// Extensions are the newest ones, oldest first.
	Extensions []LabExtension `json:"extensions,omitempty"`
	// StoppedBy is the user who stopped the lab, StoppedAt the time.
	StoppedBy string    `json:"stoppedBy,omitempty"`
	StoppedAt time.Time `json:"stoppedAt,omitzero"`
}

// LabExtension is one request for more time.
type LabExtension struct {
	By  string        `json:"by,omitempty"`
	At  time.Time     `json:"at"`
	For time.Duration `json:"for"`
	// Key identifies the request, so that repeating it adds nothing.
	Key string `json:"key,omitempty"`
}

// LabResult is the answer of the verbs extend and end.
type LabResult struct {
	Labs []LabChanged `json:"labs"`
	// Revision is the store's revision after the change. Changed is set if the change wrote anything.
	Revision int64 `json:"revision"`
	Changed  bool  `json:"changed"`
}

// LabChanged is the outcome for one lab.
type LabChanged struct {
	Lab Ref `json:"lab"`
	// Extended is the time added since it was declared; EndsAt is its new end, if it runs.
	Extended Duration  `json:"extended,omitempty"`
	EndsAt   time.Time `json:"endsAt,omitzero"`
	// Stopped says that its end was asked for.
	Stopped bool `json:"stopped,omitempty"`
}
