package rollout

import (
	"time"

	"tend.dev/tend/api"
)

// Version identifies what a slot runs or should run: a release, under a restart nonce.
type Version struct {
	Release string
	Restart string
}

// Desired is the desired state of the workload.
type Desired struct {
	// Ordered means that the slots are the ordinals 0 to Replicas-1, each an identity that keeps its place: they start
	// from the bottom, stop from the top, and are replaced one at a time, the old one gone before the new one is
	// created.
	Ordered bool
	// Replicas is the wanted number. Each frozen slot fills a place without running.
	Replicas int
	Target   Version
	// Superseded is set if another release than Target is wanted, but too little is known yet to turn to it: serving
	// slots are no longer moved to Target, while missing ones are still filled by it.
	Superseded bool
	// LastGood is the release an automatic rollback would return to; empty if there is none.
	LastGood string
	// GoodRestart is the restart nonce under which LastGood was complete last.
	GoodRestart string
	Strategy    api.ResolvedStrategy
	// Pull is the nonce of the last apply that asked for another try, PulledAt when it asked. What slots of an earlier one
	// came to before says nothing about it: their failures don't count, and their places are filled again at once.
	Pull     string
	PulledAt time.Time
	// Frozen are the slots a person stopped on purpose. A mark without an observed slot is ignored; for ordered
	// slots, one beyond the replicas.
	Frozen map[string]bool
	// Missing says which runtime the pods of the target need that no node has; its zero value if they need none such.
	// No slot that serves makes room for them.
	Missing Missing
	// Deleting removes every slot.
	Deleting bool
	// WatchedSince is the time from which slots have been observed. After a server was down or paused, older slots get
	// their whole deadline again. Zero means always.
	WatchedSince time.Time
	// KeepDead is the number of failed slots that stay for inspection. Ordered ones each stay until their next attempt.
	KeepDead int
}

// Missing names what no node has, and the step that helps.
type Missing struct{ Message, Next string }

// Slot is one slot with its task, as observed.
type Slot struct {
	ID   string
	Task string
	// Replaces is the slot this one was created to take over from.
	Replaces string
	// After is the task that must have stopped before this one starts; see Action.After.
	After   string
	Version Version
	// Pull is the Desired.Pull it was created under.
	Pull    string
	Desired api.DesiredState
	// Attempt is an ordinal's api.Task.Attempt, NextAttempt its api.Task.NextAttempt.
	Attempt, NextAttempt int
	// Failed is an ordinal's api.Task.Failed.
	Failed *api.TaskFailure
	// Rebootstrap requests that an ordinal is recreated, with its volumes emptied.
	Rebootstrap bool
	// Placed reports whether a node was chosen; Unplaceable that none fits.
	Placed      bool
	Unplaceable bool
	// Crowded is set with Unplaceable if a node would fit once the slot that this one replaces is gone.
	Crowded bool
	// Lost is set while the slot's node has been silent for the whole timeout and the task has not ended: whether its
	// container runs is unknown. Reason, Message and Next are about the node then.
	Lost bool
	// Off is set once a person said that the slot's node is off, and so that its task has ended: that isn't a failure
	// of what it ran. Away is set with it, and once it has ended in another way, while the node doesn't answer: what
	// is left of it may stay. Reason, Message and Next are about the node then.
	Off, Away bool
	// Misplaced says why the slot's node may not keep it, though it runs there: it was drained, or no longer meets the
	// constraints. Empty if it may.
	Misplaced string
	// Elsewhere is set with Lost, Misplaced and Away if another node would take a new pod in its place now. A lost
	// ordinal is never replaced so. Otherwise Stays says of a misplaced slot why none would.
	Elsewhere bool
	Stays     string
	// Observed reports whether the agent's half exists.
	Observed bool
	State    api.TaskState
	Ready    bool // the container runs, and its probe passes if it has one
	// Monitored is set if the slot's agent inspects the container after the monitor time, and sets Steady if it still
	// runs. For a slot created before agents did so, only the clock counts.
	Monitored bool
	Steady    bool
	// Apart is the longest time between the last ends of its container; 0 if it didn't end lately.
	Apart time.Duration
	// LastEnd describes the last end of its container, if it was recent.
	LastEnd   string
	CrashLoop bool
	Reason    string
	Message   string
	Next      string // the step that helps, if it is known
	// FailingSince is api.TaskStatus.FailingSince: Reason, Message and Next are those of a step that is tried again.
	FailingSince time.Time
	CreatedAt    time.Time
	StartedAt    time.Time // the current incarnation
	RunningAt    time.Time // first
	ReadyAt      time.Time // last
	// since when it isn't ready any more; zero while it is, before it was, and if its agent doesn't say
	UnreadyAt time.Time
	// EndedAt is the time at which the task ended, or its stop was requested. Zero reads as CreatedAt.
	EndedAt time.Time
}

// live reports whether the task is wanted and has not ended.
func (s *Slot) live() bool { return s.wanted() && !s.State.Terminal() }

func (s *Slot) wanted() bool { return s.Desired == api.DesiredRunning || s.Desired == "" }

// failed reports whether the task ended by itself, or could not start.
func (s *Slot) failed() bool {
	return !s.Off && (s.State == api.TaskFailed || s.State == api.TaskRejected || s.State == api.TaskComplete)
}

// end describes the end of a task.
func (s *Slot) end() string {
	if s.Off {
		return "its node is off"
	}
	return string(s.State)
}

// stopped reports whether no container of the slot runs, and none will.
func (s *Slot) stopped() bool {
	return s.State.Terminal() || !s.wanted() && !s.Placed || s.Desired == api.DesiredRemoved && !s.Observed
}

// serves reports whether the slot does its work now.
func (s *Slot) serves() bool { return s.State == api.TaskRunning && s.Ready && !s.CrashLoop && !s.Lost }

// suspended reports whether a person paused the container: only a person lets it go on.
func (s *Slot) suspended() bool {
	return s.State == api.TaskRunning && !s.Ready && s.Reason == api.ReasonPaused
}

// broken reports whether the slot does no work and never did, crashes over and over, or is lost while another node
// takes its successor. Replacing it takes nothing away. A lost one that has nowhere to go may serve still.
func (s *Slot) broken() bool {
	return s.Lost && s.Elsewhere || s.State != api.TaskRunning || s.CrashLoop || !s.Ready && s.ReadyAt.IsZero()
}

// Plan holds the actions for now, the time of the next decision, and a summary of the state.
type Plan struct {
	// Actions are meant to be committed together. A stop and the creation of its replacement must be.
	Actions []Action
	// After is the time until the plan changes without an event; 0 means never.
	After time.Duration
	Phase api.RolloutPhase
	// Reason and Message explain the phase, Next is the step that helps if it is known.
	Reason  string
	Message string
	Next    string
	// Stays names a slot of a complete rollout that should move to another node and can't yet, with the reason.
	// Staying lists all such slots, of any rollout.
	Stays   string
	Staying []string
	// Slot is the failed slot; empty while nothing fails.
	Slot   string
	Counts Counts
}

// Counts are the numbers a status shows.
type Counts struct {
	Wanted int // places that should be filled
	// Running and Ready count live slots of any version: what crashes over and over doesn't run. Arrived counts ready
	// ones of the target, Updated good ones of it, Outdated live ones of another, Failing those of the target that used
	// up their chance and places that wait for another attempt. A lost slot counts as Lost, and as Outdated if it is,
	// but as nothing else.
	Running, Ready, Arrived, Updated, Outdated, Frozen, Failing, Lost int
	// Starting counts live slots of the target that have not been ready yet and still may become so.
	Starting int
}
