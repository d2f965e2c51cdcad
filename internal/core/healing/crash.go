package healing

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// When a container that keeps exiting is called looping, for how long at least, and when its task is given up.
const (
	loopExits    = 3
	loopLasts    = time.Minute
	giveUpExits  = 5
	giveUpWindow = 5 * time.Minute // ends within it count as recent
)

// count counts ends and starts that no report contains yet. The engine's own restart count is authoritative for exits;
// starting by hand resets it, so a smaller count starts again from 0.
func (p *planner) count() {
	c, next := p.Container, &p.out.Status
	known := p.Status.EngineRestarts
	if c.ID != p.Status.Container || c.RestartCount < known {
		known = 0
	}
	ends := c.RestartCount - known
	next.EngineRestarts = c.RestartCount
	if ends > 0 {
		p.addExits(ends)
	}
	if c.StartedAt.IsZero() || (c.ID == p.Status.Container && c.StartedAt.Equal(p.Status.StartedAt)) {
		return
	}
	if next.Incarnations == 0 {
		next.Incarnations = c.RestartCount // the first one, and the engine's
		if c.State != Restarting {
			next.Incarnations++
		}
		return
	}
	next.Incarnations += max(1, ends)
}

// addExits records ends. Of several unobserved ends only the last has a known time; a loop that goes on will become
// visible.
func (p *planner) addExits(ends int) {
	at := p.Container.FinishedAt
	if at.IsZero() || at.After(p.now) {
		at = p.now
	}
	if !p.Watched {
		ends = 1
	}
	exits := append([]time.Time(nil), p.Status.Exits...)
	for range min(ends, giveUpExits) {
		exits = append(exits, at)
	}
	p.out.Status.Exits = exits[max(0, len(exits)-giveUpExits):]
	if p.LastExit != nil && p.Container.State == Running {
		p.exited(*p.LastExit)
	}
}

// countCrashes sets CrashLoop from the recorded ends, and reports whether to give up.
func (p *planner) countCrashes() bool {
	next := &p.out.Status
	next.CrashLoop = p.loops()
	giveUp := givesUp(next.Exits)
	next.CrashLoop = next.CrashLoop || giveUp
	return giveUp
}

// loops reports whether the container keeps exiting. It does so until it has run for longer than its exits were apart:
// else it would look well between any two of them.
func (p *planner) loops() bool {
	exits := p.out.Status.Exits
	if len(exits) < loopExits {
		return false
	}
	first, last := exits[len(exits)-loopExits], exits[len(exits)-1]
	if last.Sub(first) >= giveUpWindow {
		return false
	}
	over := last.Add(giveUpWindow)
	if c := p.Container; c != nil && c.State == Running {
		over = c.StartedAt.Add(outlives(p.out.Status))
		if over.Before(first.Add(loopLasts)) {
			over = first.Add(loopLasts)
		}
	}
	left := over.Sub(p.now)
	if left <= 0 || left > giveUpWindow { // the clock was set back since
		return false
	}
	p.recheckAfter(left)
	return true
}

// Apart returns how far apart the last exits of a task's container were, at most; its first life counts like the
// others. It is 0 if it didn't exit lately, and goes back to the last life that was long.
func Apart(s api.TaskStatus) time.Duration {
	exits := s.Exits
	if n := len(exits); n == 0 || !s.FinishedAt.IsZero() && s.FinishedAt.Sub(exits[n-1]) > giveUpWindow {
		return 0
	}
	if len(exits) < giveUpExits && !s.RunningAt.IsZero() {
		exits = append([]time.Time{s.RunningAt}, exits...)
	}
	var most time.Duration
	for i := len(exits) - 1; i > 0; i-- {
		gap := exits[i].Sub(exits[i-1])
		if gap > giveUpWindow {
			break
		}
		most = max(most, gap)
	}
	return most
}

// LastEnd returns how a task's container ended last: its exit code, the signal that killed it, or that it ran out of
// memory. It is empty if the container has not ended by itself.
func LastEnd(s api.TaskStatus) string {
	const signal = 128 // a shell's, and the engines': the code of a process that a signal ended is 128 more
	switch {
	case len(s.Exits) == 0:
		return ""
	case s.OOMKilled:
		return "out of memory"
	case s.ExitCode == nil:
		return "exit code unknown"
	case *s.ExitCode > signal && *s.ExitCode <= signal+64:
		return fmt.Sprintf("exit code %d, signal %d", *s.ExitCode, *s.ExitCode-signal)
	}
	return fmt.Sprintf("exit code %d", *s.ExitCode)
}

// outlives returns after which time a container has run for longer than its exits were apart.
func outlives(s api.TaskStatus) time.Duration {
	apart := Apart(s)
	return min(apart+apart/4, giveUpWindow)
}

// givesUp depends only on the times of the ends, not on the time since: once given up, it stays so however long
// stopping takes.
func givesUp(exits []time.Time) bool {
	return len(exits) >= giveUpExits && exits[len(exits)-1].Sub(exits[len(exits)-giveUpExits]) <= giveUpWindow
}

// looping reports a container that keeps exiting.
func (p *planner) looping() {
	reason, message, next := p.explainLoop()
	p.down(reason, message)
	p.out.Status.Next = next
}

// explainLoop returns why a container keeps exiting. Another program that writes to its volume comes first: only a
// person can end that, and it may be the cause. Otherwise the reason is CrashLoop, unless it is killed for lack of
// memory.
func (p *planner) explainLoop() (reason, message, next string) {
	reason, message = p.exitReason(api.ReasonCrashLoop), p.crashMessage()
	if p.Beside != nil {
		return p.Beside.Reason, p.Beside.Message + "; " + message, p.Beside.Next
	}
	return reason, message, p.nextStep(reason)
}

// crashMessage names the number of starts that listings show of the pod: of its exits only the last few are kept.
func (p *planner) crashMessage() string {
	s := p.out.Status
	starts := fmt.Sprintf("%d starts", max(s.Incarnations, len(s.Exits)))
	switch {
	case s.OOMKilled:
		return p.killedMessage() + ", after " + starts
	case s.ExitCode == nil:
		return "the program keeps exiting: " + starts
	}
	return "the program keeps exiting: " + starts + ", the last ended with " + p.exitWords()
}

// endedByItself reports whether a container that the engine left stopped had exited by itself. The engine restarts what
// its policy covers, so a stopped container that is covered was stopped by hand. For the rest the events decide;
// without an event it counts as an exit.
func (p *planner) endedByItself() bool {
	switch p.Status.Reason {
	case api.ReasonFrozen, api.ReasonPluginAtWork, api.ReasonEngineUnavailable: // stopped on purpose, or with the engine
		return false
	}
	if p.Cause == CauseHand || p.Cause == CauseEngine {
		return false
	}
	return !policyCovers(p.Container.Restart, p.Container.ExitCode, p.Container.RestartCount)
}

// policyCovers reports whether the engine restarts a container that exited by itself.
func policyCovers(policy string, exitCode, restarts int) bool {
	name, limit, _ := strings.Cut(policy, ":")
	switch name {
	case "always", "unless-stopped":
		return true
	case "on-failure":
		most, _ := strconv.Atoi(limit)
		return exitCode != 0 && (most == 0 || restarts < most)
	}
	return false
}
