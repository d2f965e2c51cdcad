package rollout

import (
	"time"

	"tend.dev/tend/api"
)

// Version is what a slot runs or should run: a release, under a restart nonce.
type Version struct {
	Release string
	Restart string
}

// Desired is what the workload should be.
type Desired struct {
	// Ordered says that the slots are the ordinals 0 to Replicas-1, each an identity that keeps its place: they start
	// from the bottom, stop from the top, and are replaced one at a time, the old one gone before the new one is made.
	Ordered bool
	// Replicas wanted. Frozen slots fill a place each without running.
	Replicas int
	Target   Version
	// Superseded says that another release is wanted than Target, of which too little is known yet to turn to it: what
	// serves is not turned to Target any more, what is missing is still filled by it.
	Superseded bool
	// LastGood is the release an automatic rollback would return to; empty where there is none.
	LastGood string
	Strategy api.ResolvedStrategy
	// Probed says whether the target has a readiness or startup probe, so that ready is more than running.
	Probed bool
	// Frozen are the slots an operator stopped on purpose. A mark whose slot is not among the observed counts nothing; of
	// ordered slots, one beyond the replicas.
	Frozen map[string]bool
	// Deleting asks for every slot to go.
	Deleting bool
	// WatchedSince is when somebody began to see what becomes of slots: a server that was away, or paused, gives those of
	// before their whole deadline. Zero is ever since.
	WatchedSince time.Time
	// KeepDead is how many failed slots stay for inspection. Of ordered ones each stays until its next try.
	KeepDead int
}

// Slot is one slot with its task, as observed.
type Slot struct {
	ID   string
	Task string
	// Replaces is the slot this one was created to take over from.
	Replaces string
	// After is the task that must have stopped before this one starts; see Action.After.
	After   string
	Version Version
	Desired api.DesiredState
	// Attempt is an ordinal's api.Task.Attempt, NextAttempt its api.Task.NextAttempt.
	Attempt, NextAttempt int
	// Rebootstrap asks for an ordinal to be made anew, with its volumes emptied.
	Rebootstrap bool
	// Placed says whether a node was chosen; Unplaceable that none fits.
	Placed      bool
	Unplaceable bool
	// Crowded is set beside Unplaceable where a node would fit if the slot that this one replaces were gone.
	Crowded bool
	// Observed says whether the agent's half exists.
	Observed bool
	State    api.TaskState
	Ready    bool // the container runs, and its probes pass where there are any
	// Monitored: the slot's agent looks again when the container ran for the monitor time, and says by Steady that it
	// still does. Of a slot made before agents did so, the clock alone tells.
	Monitored bool
	Steady    bool
	CrashLoop bool
	Reason    string
	Message   string
	Next      string // the step that helps, where it is known
	CreatedAt time.Time
	StartedAt time.Time // the current incarnation
	RunningAt time.Time // first
	ReadyAt   time.Time // last
	// EndedAt is when the task ended, or was told to. Zero reads as CreatedAt.
	EndedAt time.Time
}

// live: the task is wanted and has not ended.
func (s *Slot) live() bool { return s.wanted() && !s.State.Terminal() }

func (s *Slot) wanted() bool { return s.Desired == api.DesiredRunning || s.Desired == "" }

// failed: the task ended by itself, or could not start.
func (s *Slot) failed() bool {
	return s.State == api.TaskFailed || s.State == api.TaskRejected || s.State == api.TaskComplete
}

// stopped: no container of the slot runs, and none will.
func (s *Slot) stopped() bool {
	return s.State.Terminal() || !s.wanted() && !s.Placed || s.Desired == api.DesiredRemoved && !s.Observed
}

// serves: the slot does its work now.
func (s *Slot) serves() bool { return s.State == api.TaskRunning && s.Ready && !s.CrashLoop }

// broken: the slot does no work and never did, or crashes over and over. Replacing it takes nothing away.
func (s *Slot) broken() bool {
	return s.State != api.TaskRunning || s.CrashLoop || !s.Ready && s.ReadyAt.IsZero()
}

// Plan is what to do now, when to look again, and what the state amounts to.
type Plan struct {
	// Actions are meant to be committed together. A stop and the creation of what comes after it must be.
	Actions []Action
	// After is when time alone will change the plan; 0 is never.
	After time.Duration
	Phase api.RolloutPhase
	// Reason and Message explain the phase, Next is the step that helps where it is known.
	Reason  string
	Message string
	Next    string
	// Slot is the one that failed; empty while nothing fails.
	Slot   string
	Counts Counts
}

// Counts are the numbers a status shows.
type Counts struct {
	Wanted int // places that should be filled
	// Running and Ready count live slots of any version, Updated good ones of the target, Outdated live ones of another,
	// Failing those of the target that used up their chance and places that wait for another try.
	Running, Ready, Updated, Outdated, Frozen, Failing int
	// Starting are live slots of the target that have not been ready yet and still may become so.
	Starting int
}
