package timetable

import (
	"slices"
	"time"

	"tend.dev/tend/api"
)

// punctual is the delay that never makes a due time late: a decision may come a moment after its time, and a server
// needs a moment to restart.
const punctual = 10 * time.Second

// RunID returns the id of a due time's run.
func RunID(due time.Time) string { return due.UTC().Format("20060102T150405Z") }

// due handles the due times that have passed: the newest starts a run, those before it are missed.
func (p *planner) due() {
	if p.Schedule == nil {
		p.plan.Timeline = Timeline{}
		return
	}
	line := &p.plan.Timeline
	if line.ScheduleHash != p.ScheduleHash {
		begin := p.now
		if p.Since.Before(begin) && !p.Since.IsZero() {
			begin = p.Since
		}
		*line = Timeline{ScheduleHash: p.ScheduleHash, Last: begin, Skipped: []api.TimeSpan{{Before: begin}}}
	}
	p.followClock()
	p.passOver()
	next, comes := p.next()
	if !line.Ahead.IsZero() || comes && !next.After(p.now) {
		if newest, count := p.open(); count > 0 {
			p.advance(newest)
			p.settle(newest, count)
		}
		p.reachAhead()
		next, comes = p.next()
	}
	if comes {
		p.plan.NextRun = next
		p.look(next)
	}
}

// tooLate reports whether a due time may no longer begin a run.
func (p *planner) tooLate(due time.Time) bool {
	return p.now.Sub(due) > max(p.StartingDeadline, punctual)
}

// settle starts the run of the newest of several due times, or records why not.
func (p *planner) settle(newest time.Time, count int) {
	switch {
	case p.Suspend:
		p.miss(newest, count, MissedSuspended)
	case p.tooLate(newest):
		p.miss(newest, count, MissedLate)
	case p.Concurrency == api.ConcurrencyForbid && p.anyActive():
		p.miss(newest, count, MissedForbidden)
	default:
		if count > 1 {
			p.miss(newest, count-1, MissedLate)
			p.plan.Timeline.LastMissed, _ = p.Schedule.before(newest)
		}
		p.begin(newest)
	}
}

func (p *planner) miss(newest time.Time, count int, why string) {
	line := &p.plan.Timeline
	line.Missed += count
	line.LastMissed, line.Why = newest, why
	p.do(Action{Verb: MarkMissed, Count: count, Reason: why})
}

func (p *planner) begin(due time.Time) {
	id := RunID(due)
	for i := range p.runs {
		if p.runs[i].ID == id {
			return // it was started before
		}
	}
	record := api.Run{ID: id, Trigger: api.TriggerSchedule, ScheduledAt: due, CreatedAt: p.now, State: api.RunPending}
	p.do(Action{Verb: CreateRun, Run: id, Due: &record})
	p.runs = append(p.runs, run{Run: record})
}

func (p *planner) anyActive() bool {
	return slices.ContainsFunc(p.runs, func(r run) bool { return r.active() })
}
