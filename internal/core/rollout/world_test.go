package rollout

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tend.dev/tend/api"
)

// How long the agent of the test's world takes.
const (
	startTakes = time.Second
	readyTakes = 2 * time.Second        // after the start, where readiness is probed
	readyFor   = 500 * time.Millisecond // how long what is ready once is so
	crashTakes = 3 * time.Second        // from a start to the crash loop
	loopExits  = 3                      // ends of one container until its agent calls it a crash loop
	stopTakes  = time.Second
	dropTakes  = time.Second
)

// fate is the fate of the tasks of a release.
type fate string

const (
	fateWell       fate = "ok"
	fateFails      fate = "fails"       // its container ends instead of starting
	fateCrashes    fate = "crash-loops" // it starts, and ends over and over
	fateNeverReady fate = "never-ready" // it runs and its probe never passes
	fateReadyOnce  fate = "ready-once"  // it is ready for a moment, never again, and runs on
	fateDies       fate = "dies"        // it starts, is ready in its time, and ends after it lived; again and again
)

// world is a small model of the planner's surroundings: a store that does what a plan says, a scheduler, and an agent
// that takes time. Slots are named a, b, c … in the order of their creation.
type world struct {
	now       time.Time
	desired   Desired
	slots     map[string]*Slot
	stoppedAt map[string]time.Time     // when a slot was stopped or removed
	since     map[string]time.Time     // when its container could begin to start
	fates     map[string]fate          // by release
	lives     time.Duration            // how long a container lives that dies
	probed    bool                     // readiness takes time and a probe
	monitor   map[string]time.Duration // how long agents watch, by task
	exits     map[string]int           // ends of the container that runs, by task
	full      bool                     // no room for two halves of a pair
	noNode    bool                     // no room for anything new
	stuck     map[string]bool          // slots whose agent does nothing
	nodes     []string                 // those that there are
	cut       map[string]bool          // nodes that are silent; they count as lost at once
	drained   map[string]bool          // nodes that may keep nothing
	held      bool                     // too many nodes are lost: nothing is moved
	node      map[string]string        // the nodes of tasks, by task
	strayed   map[string]bool          // slots that were lost once: what they do since is not the planner's doing
	byClock   bool                     // agents are from before they reported which slots are steady
	pinned    bool                     // ordinals keep data where they are
	boxes     map[string]bool          // tasks whose container runs, whatever is known of it
	wrong     map[string]bool          // tasks that a person said had ended while their container ran
	leftovers []Slot                   // tasks that lost their ordinal before their node cleared them
	overlap   string                   // the first two containers of one ordinal that ran at once
	made      int
	phase     string // the last one printed
	log       func(format string, args ...any)
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld() *world {
	return &world{
		now: epoch, slots: map[string]*Slot{}, stoppedAt: map[string]time.Time{}, since: map[string]time.Time{},
		nodes: []string{"n1"}, cut: map[string]bool{}, drained: map[string]bool{}, node: map[string]string{},
		strayed: map[string]bool{},
		boxes:   map[string]bool{}, wrong: map[string]bool{},
		monitor: map[string]time.Duration{}, exits: map[string]int{}, lives: 4 * time.Second,
		fates: map[string]fate{}, stuck: map[string]bool{}, log: func(string, ...any) {},
		desired: Desired{KeepDead: 3, Frozen: map[string]bool{}, Strategy: defaultStrategy()},
	}
}

func defaultStrategy() api.ResolvedStrategy {
	return api.ResolvedStrategy{
		Order: api.OrderStartFirst, MaxParallel: 1, Pause: 2 * time.Second, Monitor: 5 * time.Second,
		WaitReady: true, Deadline: 5 * time.Minute, OnFailure: api.OnFailurePause,
	}
}

// list returns the slots for the planner, oldest first.
func (w *world) list() []Slot {
	out := make([]Slot, 0, len(w.slots))
	for _, s := range w.sorted() {
		s.Lost = s.Placed && !s.State.Terminal() && w.cut[w.node[s.Task]]
		room := !w.noNode && w.choose() != ""
		s.Away = s.Off && w.cut[w.node[s.Task]]
		s.Elsewhere = room && (s.Lost && !w.desired.Ordered && !w.held || s.Away && !w.pinned)
		w.misplace(s, room)
		seen := *s
		if s.Lost {
			w.strayed[s.ID] = true
			seen.Reason, seen.Message = api.ReasonNodeLost, "node "+w.node[s.Task]+" does not answer"
		}
		out = append(out, seen)
	}
	return out
}

// misplace records that a slot's node may not keep it.
func (w *world) misplace(s *Slot, room bool) {
	s.Misplaced, s.Stays = "", ""
	if node := w.node[s.Task]; s.Placed && s.live() && !s.Lost && w.drained[node] {
		s.Misplaced, s.Elsewhere = "node "+node+" is drained", room
		if !room {
			s.Stays = "slot " + s.ID + " stays where it is: no node has room"
		}
	}
}

// choose returns the node that answers, is not drained and has the fewest tasks; empty if none answers.
func (w *world) choose() string {
	tasks := map[string]int{}
	for _, s := range w.slots {
		tasks[w.node[s.Task]]++
	}
	best := ""
	for _, node := range w.nodes {
		if !w.cut[node] && !w.drained[node] && (best == "" || tasks[node] < tasks[best]) {
			best = node
		}
	}
	return best
}

func (w *world) sorted() []*Slot {
	return slices.SortedFunc(maps.Values(w.slots), func(a, b *Slot) int {
		if len(a.ID) != len(b.ID) {
			return len(a.ID) - len(b.ID)
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
}

func (w *world) plan() Plan { return Decide(w.desired, w.list(), w.now) }

// perform carries out one action, as the controller's commit would.
func (w *world) perform(a Action) {
	s := w.slots[a.Slot]
	switch a.Verb {
	case Create:
		name := slotName(w.made)
		task := "task-" + name
		if a.Slot != "" { // an ordinal has many tasks, one after another
			name, task = a.Slot, fmt.Sprintf("task-%s-%d", a.Slot, w.made)
			delete(w.stoppedAt, name)
			delete(w.since, name)
		}
		w.made++
		if before := w.slots[name]; before != nil && before.Off && before.Observed {
			w.leftovers = append(w.leftovers, *before)
		}
		w.slots[name] = &Slot{
			ID: name, Task: task, Replaces: a.Replaces, After: a.After, Version: a.Version, Pull: w.desired.Pull,
			Desired: api.DesiredRunning, State: api.TaskPending, CreatedAt: w.now, Attempt: a.Attempt, Failed: a.Failed,
			Monitored: !w.byClock && a.Monitor > 0,
		}
		w.monitor[task] = a.Monitor
		watched := ""
		if a.Monitor > w.desired.Strategy.Monitor {
			watched = fmt.Sprintf(", watched for %s", a.Monitor)
		}
		w.log("create %s of %s%s%s", name, a.Version.Release, inPlace(a), watched)
	case Shutdown:
		s.Desired, s.NextAttempt = api.DesiredShutdown, a.NextAttempt
		if a.NextAttempt > 0 {
			s.Failed = a.Failed
		}
		w.stoppedAt[s.ID] = w.now
		if s.EndedAt.IsZero() {
			s.EndedAt = w.now
		}
		w.log("stop %s (%s)", a.Slot, a.Reason)
	case Remove:
		s.Desired = api.DesiredRemoved
		w.stoppedAt[s.ID] = w.now
		w.log("remove %s", a.Slot)
	case Forget:
		delete(w.slots, a.Slot)
		w.log("forget %s", a.Slot)
	case RollBack:
		w.log("roll back to %s (%s)", a.Version.Release, a.Reason)
		w.desired.Target = a.Version
	}
}

// performAll carries out a plan and remembers a good release, as the controller does.
func (w *world) performAll(plan Plan) {
	for _, a := range plan.Actions {
		w.perform(a)
	}
	if plan.Phase == api.RolloutComplete && !w.desired.Deleting {
		w.desired.LastGood, w.desired.GoodRestart = w.desired.Target.Release, w.desired.Target.Restart
	}
}

// slotName returns a, b, … z, aa, ab, …
func slotName(n int) string {
	name := string(rune('a' + n%26))
	if n >= 26 {
		name = slotName(n/26-1) + name
	}
	return name
}

func inPlace(a Action) string {
	text := ""
	if a.Replaces != "" {
		text += " in place of " + a.Replaces
	}
	if a.After != "" {
		text += ", after " + a.After
	}
	if a.Reason != "" {
		text += fmt.Sprintf(" (%s)", a.Reason)
	}
	return text
}

// message returns the plan's message, prefixed by the slot that failed.
func (w *world) message(plan Plan) string {
	for _, slot := range w.sorted() {
		if plan.Slot != "" && slot.ID == plan.Slot {
			return fmt.Sprintf("slot %s of %s: %s", slot.ID, slot.Version.Release, plan.Message)
		}
	}
	return plan.Message
}
