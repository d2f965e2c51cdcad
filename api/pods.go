package api

import "time"

// Pod is a task as users see it: its desired and its observed half, joined. Paths and commands take Name.
type Pod struct {
	// Name is the container's: <scope>-<resource>.<slot>.
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	Scope string `json:"scope"`
	// Resource is the name of the object the pod belongs to.
	Resource string       `json:"resource"`
	Slot     string       `json:"slot"`
	Task     string       `json:"task"`
	Node     string       `json:"node,omitempty"`
	Release  string       `json:"release"`
	State    TaskState    `json:"state"`
	Desired  DesiredState `json:"desired"`
	Ready    bool         `json:"ready"`
	// Target is the release to which the rollout of its object updates pods, if that isn't Release. With Outdated the pod
	// is to be replaced for it; without, it runs the same as the target, as after a rollback, and stays.
	Target   string `json:"target,omitempty"`
	Outdated bool   `json:"outdated,omitempty"`
	// Settling is set of a lab's pod that was not yet seen to run for as long as shows that it stays up. One that has
	// ended meanwhile stays so until its lab has followed.
	Settling bool `json:"settling,omitempty"`
	// Run is the run the pod works for, and Role which command of its release it runs; both are empty for a replica.
	Run  string   `json:"run,omitempty"`
	Role TaskRole `json:"role,omitempty"`
	// Frozen is set while the pod is stopped on purpose.
	Frozen bool `json:"frozen,omitempty"`
	// Reason is a CamelCase word for why the pod isn't ready or has ended; Message is for a person.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Next is the step that helps where it is known.
	Next         string        `json:"next,omitempty"`
	Image        string        `json:"image,omitempty"`
	ImageID      string        `json:"imageID,omitempty"`
	Container    string        `json:"container,omitempty"`
	PID          int           `json:"pid,omitempty"`
	Address      string        `json:"address,omitempty"`
	Ports        []PortBinding `json:"ports,omitempty"`
	Incarnations int           `json:"incarnations,omitempty"`
	CrashLoop    bool          `json:"crashLoop,omitempty"`
	ExitCode     *int          `json:"exitCode,omitempty"`
	OOMKilled    bool          `json:"oomKilled,omitempty"`
	// Exits are the times its container ended by itself, newest last, at most the last 5.
	Exits []time.Time `json:"exits,omitempty"`
	// Probes are where its probes stand, by kind: startup, liveness, readiness.
	Probes map[string]ProbeStatus `json:"probes,omitempty"`
	// LivenessRestarts are the times its liveness or startup probe gave the container up, newest last.
	LivenessRestarts []time.Time `json:"livenessRestarts,omitempty"`
	// LastLog holds the last lines of a container that failed.
	LastLog    []string  `json:"lastLog,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	ReadyAt    time.Time `json:"readyAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}

// Owner names the object the pod belongs to.
func (p Pod) Owner() Ref { return Ref{Kind: p.Kind, Scope: p.Scope, Name: p.Resource} }

// Live reports whether the pod is wanted running and has not ended.
func (p Pod) Live() bool { return p.Desired == DesiredRunning && !p.State.Terminal() }

// PodReadiness is the body of /v1/pods/{pod}/ready: with 200 when Ready, with 503 when not.
type PodReadiness struct {
	Pod    string    `json:"pod"`
	Ready  bool      `json:"ready"`
	State  TaskState `json:"state"`
	Reason string    `json:"reason,omitempty"`
	// Message says in words why the pod isn't ready.
	Message string `json:"message,omitempty"`
	// Probes are where its probes stand, by kind: startup, liveness, readiness.
	Probes map[string]ProbeStatus `json:"probes,omitempty"`
}

// PodStats is one sample of a pod's use.
type PodStats struct {
	Pod      string `json:"pod"`
	Kind     Kind   `json:"kind"`
	Scope    string `json:"scope"`
	Resource string `json:"resource"`
	Node     string `json:"node,omitempty"`
	// CPUPercent is of one core: 250 is two and a half.
	CPUPercent       float64   `json:"cpuPercent"`
	MemoryBytes      int64     `json:"memoryBytes"`
	MemoryLimitBytes int64     `json:"memoryLimitBytes,omitempty"`
	PIDs             int       `json:"pids"`
	NetRxBytes       int64     `json:"netRxBytes"`
	NetTxBytes       int64     `json:"netTxBytes"`
	BlockReadBytes   int64     `json:"blockReadBytes"`
	BlockWriteBytes  int64     `json:"blockWriteBytes"`
	At               time.Time `json:"at,omitzero"`
	// Error is the reason why there is no sample. The figures are then 0.
	Error string `json:"error,omitempty"`
}

// LogLine is one line of a pod's output. Log streams are JSON, a line each. A line with Error ends the pod's part of
// the stream, which then lacks output; without Pod it ends the whole stream. A stream with neither is complete.
type LogLine struct {
	Pod string `json:"pod"`
	// Stream is stdout or stderr.
	Stream string    `json:"stream,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Text   string    `json:"text"`
	// Part: the line is longer than is sent at once; the next one of this pod and stream goes on with it.
	Part  bool     `json:"part,omitempty"`
	Error *Problem `json:"error,omitempty"`
	// Note says which output is missing. A line with it has no text.
	Note string `json:"note,omitempty"`
}

// ExecRequest is a command to run in a pod's container.
type ExecRequest struct {
	Command    []string `json:"command"`
	Env        []string `json:"env,omitempty"`
	User       string   `json:"user,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
	TTY        bool     `json:"tty,omitempty"`
	Stdin      bool     `json:"stdin,omitempty"`
	// Width and Height of the terminal, 0 where there is none.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
}
