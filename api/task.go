package api

import "time"

// TaskState is the state of a task as its agent observed it. States only move forward, in the order of the constants.
type TaskState string

// The states of a task.
const (
	TaskPending   TaskState = "pending"   // created, no node yet
	TaskAssigned  TaskState = "assigned"  // a node was chosen
	TaskAccepted  TaskState = "accepted"  // its agent has seen it
	TaskPreparing TaskState = "preparing" // image, volumes, container
	TaskStarting  TaskState = "starting"  // the container is being started
	TaskRunning   TaskState = "running"   // the container runs, or is being brought back in place
	TaskComplete  TaskState = "complete"  // it ended with exit code 0
	TaskFailed    TaskState = "failed"    // it ended otherwise, or kept ending
	TaskRejected  TaskState = "rejected"  // it could not be started at all
	TaskShutdown  TaskState = "shutdown"  // it was stopped because that was desired
)

var taskOrder = map[TaskState]int{
	"": 0, TaskPending: 0, TaskAssigned: 1, TaskAccepted: 2, TaskPreparing: 3, TaskStarting: 4, TaskRunning: 5,
	TaskComplete: 6, TaskFailed: 6, TaskRejected: 6, TaskShutdown: 6,
}

// Terminal reports whether the state is an end.
func (s TaskState) Terminal() bool { return taskOrder[s] == 6 }

// CanBecome reports whether a task may move from s to next: forward, and never out of a terminal state.
func (s TaskState) CanBecome(next TaskState) bool {
	return s == next || (!s.Terminal() && taskOrder[next] > taskOrder[s])
}

// DesiredState is the state that the control plane wants of a task. It only rises, in the order of the constants.
type DesiredState string

// The desired states of a task.
const (
	DesiredRunning  DesiredState = "running"
	DesiredShutdown DesiredState = "shutdown" // stop the container, keep it for inspection
	DesiredRemoved  DesiredState = "removed"  // remove the container and its observed half
)

var desiredOrder = map[DesiredState]int{"": 0, DesiredRunning: 0, DesiredShutdown: 1, DesiredRemoved: 2}

// CanBecome reports whether a desired state may rise from d to next.
func (d DesiredState) CanBecome(next DesiredState) bool { return desiredOrder[next] >= desiredOrder[d] }

// RestartClass decides what happens to a task's container when it ends.
type RestartClass string

// The restart classes.
const (
	ClassKeep RestartClass = "keep" // deployment, statefulset: brought back
	ClassOnce RestartClass = "once" // job, cron run, release command, lab: its end is its result
)

// TaskRole names the command of a release that a task runs.
type TaskRole string

// The roles.
const (
	RoleMain    TaskRole = ""        // the workload itself
	RolePre     TaskRole = "pre"     // release.pre_command
	RoleCommand TaskRole = "command" // release.command
	RolePost    TaskRole = "post"    // release.post_command
	RoleDeploy  TaskRole = "deploy"  // post_deploy
)

// Task is the desired half of one filling of one slot on one node. The control plane writes it. Node is set once, where
// it is empty: by the step that creates the task, or by the scheduler. Desired only rises.
type Task struct {
	ID    string `json:"id"`
	Kind  Kind   `json:"kind"`
	Scope string `json:"scope"`
	Name  string `json:"name"`
	// OwnerUID is the uid of the object it was created for: release v1 of an object that was deleted and created again is
	// another release.
	OwnerUID string `json:"ownerUID,omitempty"`
	// Slot is the place filled: 8 hex digits, fresh for every task of a deployment.
	Slot string `json:"slot"`
	// Replaces is the slot this one was created to replace, or empty.
	Replaces string `json:"replaces,omitempty"`
	// After is the id of a task whose container must have stopped before this one's starts (stop-first). Its container
	// may be created before.
	After string `json:"after,omitempty"`
	// Release names the snapshot the container is made from.
	Release string `json:"release"`
	// Restart is the restart nonce the task was created under.
	Restart string `json:"restart,omitempty"`
	// Pull is the StampPull the task was created under: what failed under an earlier one doesn't count against it.
	Pull  string       `json:"pull,omitempty"`
	Class RestartClass `json:"class"`
	// Attempt counts the tasks that filled the slot, or ran for the run, one after another without lasting: 1, or 0, is
	// the first. Backoffs are read from it.
	Attempt int `json:"attempt,omitempty"`
	// NextAttempt is the attempt of the task that fills the ordinal after this one, noted when this one was to stop.
	// 0 if no task was to follow it: it was scaled down, or frozen.
	NextAttempt int `json:"nextAttempt,omitempty"`
	// Failed is the last failure of its ordinal: that of the attempt before this one; or its own, noted when it was to
	// stop and another attempt was to follow.
	Failed *TaskFailure `json:"failed,omitempty"`
	// Bootstrap is the rebootstrap nonce of its ordinal the task was created under; see StampRebootstrap.
	Bootstrap string `json:"bootstrap,omitempty"`
	// With Wipe the agent removes the volumes of the ordinal's claims once the container is gone, before it forgets
	// the task.
	Wipe bool `json:"wipe,omitempty"`
	// WipeSlots are further ordinals whose volumes go with them, joined by commas: the statefulset was scaled down, and no
	// task of theirs is left to remove what lies on this node.
	WipeSlots string `json:"wipeSlots,omitempty"`
	// Leftover is set on an ended task that nothing waits for: its node didn't answer when its ordinal was given to
	// another task, or its object was deleted. It is kept until the node has removed its container.
	Leftover bool `json:"leftover,omitempty"`
	// Monitor is the time for which an incarnation must have run before its agent inspects it again and reports it
	// steady, as the strategy said when the task was made; empty if nothing waits for that.
	Monitor Duration `json:"monitor,omitempty"`
	// Run is the run the task works for; empty for what fills a slot of a workload.
	Run string `json:"run,omitempty"`
	// Exclusive is set if no other run of its owner may run beside it: it waits for what was stopped of them on its node.
	Exclusive bool `json:"exclusive,omitempty"`
	// Role says which of the release's commands it runs; empty is the main one.
	Role    TaskRole     `json:"role,omitempty"`
	Node    string       `json:"node,omitempty"`
	Desired DesiredState `json:"desired"`
	// Reason is the cause of the change of Desired from running.
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	// EndedAt is the time at which Desired rose above running.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Trace is the trace of the last decision about the task, except the choice of its node.
	Trace *Trace `json:"trace,omitempty"`
}

// TaskFailure is the reason why a task failed, in the words of its TaskStatus.
type TaskFailure struct {
	Reason  string   `json:"reason"`
	Message string   `json:"message"`
	Next    string   `json:"next,omitempty"`
	LastLog []string `json:"lastLog,omitempty"`
}

// Owner names the workload the task belongs to.
func (t Task) Owner() Ref { return Ref{Kind: t.Kind, Scope: t.Scope, Name: t.Name} }

// ContainerName is <scope>-<name>.<slot>: what users call the pod.
func (t Task) ContainerName() string { return t.Owner().AppID() + "." + t.Slot }

// InitName is the name of the container of one of its inits.
func (t Task) InitName(init string) string { return t.Owner().AppID() + "-init-" + init + "-" + t.Slot }

// TaskStatus is the observed half of a task. The agent of its node alone writes it.
type TaskStatus struct {
	ID    string    `json:"id"`
	Node  string    `json:"node"`
	State TaskState `json:"state"`
	// Ready is set while the container runs and its probes pass; without probes, while it runs.
	Ready bool `json:"ready"`
	// Steady says that the current incarnation was still running when it had run for the task's Monitor: an inspection
	// at that time says so, not the lack of events.
	Steady bool `json:"steady,omitempty"`
	// Reason is a CamelCase word for why the task is not ready or has ended; Message is for a person, Next the step that
	// helps where it is known.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Next    string `json:"next,omitempty"`
	// FailingSince is set while Reason, Message and Next are those of a step towards a running container that failed
	// and is tried again: since when none succeeded. They stay while the next try is under way.
	FailingSince time.Time `json:"failingSince,omitzero"`
	// Container is the engine's id of the current incarnation.
	Container string `json:"container,omitempty"`
	// PID is the process's id on the node where the runtime knows it without asking (plain processes).
	PID     int    `json:"pid,omitempty"`
	ImageID string `json:"imageID,omitempty"`
	// Incarnations counts containers started for the task, by the engine's restart policy or in place: 1 is the first.
	Incarnations int `json:"incarnations,omitempty"`
	// Exits are the times the container ended by itself, newest last, at most the last 5.
	Exits []time.Time `json:"exits,omitempty"`
	// EngineRestarts is the engine's own restart count as last seen, by which exits are found that no event reported.
	EngineRestarts int `json:"engineRestarts,omitempty"`
	// CrashLoop is set once 3 incarnations ended within five minutes, until one has run for longer than those ends were
	// apart.
	CrashLoop bool          `json:"crashLoop,omitempty"`
	ExitCode  *int          `json:"exitCode,omitempty"`
	OOMKilled bool          `json:"oomKilled,omitempty"`
	Address   string        `json:"address,omitempty"`
	Ports     []PortBinding `json:"ports,omitempty"`
	// Probes are the phases of the current incarnation's probes, by kind: liveness, readiness, startup.
	Probes map[string]ProbeStatus `json:"probes,omitempty"`
	// LivenessRestarts are the times the liveness or startup probe gave the container up, newest last, at most the last
	// 5: it was restarted in place, until the fourth within 10 minutes failed the task.
	LivenessRestarts []time.Time `json:"livenessRestarts,omitempty"`
	// Inits is the progress of the current container's init containers; nil if it has none.
	Inits *InitProgress `json:"inits,omitempty"`
	// LastLog holds the last lines of a container that failed, at most 20 lines and 4 KiB.
	LastLog   []string  `json:"lastLog,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	StartedAt time.Time `json:"startedAt,omitzero"` // the current incarnation
	RunningAt time.Time `json:"runningAt,omitzero"` // the first time the task ran
	ReadyAt   time.Time `json:"readyAt,omitzero"`   // the last time it became ready
	// since when it isn't ready any more; zero while it is, and before it was
	UnreadyAt  time.Time `json:"unreadyAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"` // the task's end
}

// PortBinding is one published port.
type PortBinding struct {
	Container int    `json:"container"`
	Protocol  string `json:"protocol"`
	HostIP    string `json:"hostIP"`
	HostPort  int    `json:"hostPort"`
}

// ProbePhase is the state of a probe.
type ProbePhase string

// The phases of a probe.
const (
	ProbeUnknown   ProbePhase = "unknown" // fewer answers than a threshold
	ProbeHealthy   ProbePhase = "healthy"
	ProbeUnhealthy ProbePhase = "unhealthy"
)

// ProbeStatus is one probe's phase. It begins as unknown, and is unknown again when another incarnation starts.
type ProbeStatus struct {
	Phase ProbePhase `json:"phase"`
	// Before is the last phase but unknown ahead of this one, also of an earlier incarnation: healthy after unhealthy is
	// a recovery, healthy after nothing a first pass.
	Before ProbePhase `json:"before,omitempty"`
	// Since is the start of the phase. Transition counts the phase's changes over the task's life, including those to
	// unknown.
	Since      time.Time `json:"since,omitzero"`
	Transition int       `json:"transition,omitempty"`
	// Message is the cause of the last failure; Failures is the number of failures in a row when it was written: not
	// every failure is written.
	Message  string `json:"message,omitempty"`
	Failures int    `json:"failures,omitempty"`
	// Source is the origin of a probe that no manifest declares: the HEALTHCHECK of the image.
	Source string `json:"source,omitempty"`
}

// InitProgress is the progress of a container's init containers.
type InitProgress struct {
	// For is the container they prepare: its id.
	For string `json:"for,omitempty"`
	// Next is the index of the one that runs or runs next; all are done when it is their number.
	Next int `json:"next"`
	// Attempt of that one, from 1; StartedAt when it began, RetryAt when the next attempt may begin.
	Attempt   int       `json:"attempt,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	RetryAt   time.Time `json:"retryAt,omitzero"`
	Done      bool      `json:"done,omitempty"`
}
