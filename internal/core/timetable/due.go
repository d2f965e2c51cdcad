package timetable

import (
	"time"

	"tend.dev/tend/api"
)

// punctual is the delay that never makes a due time late: a decision may come a moment after its time, and a server
// needs a moment to restart.
const punctual = 10 * time.Second

// maxAhead bounds how far ahead of the clock the newest recorded due time may lie. Within it a clock that was set back
// starts no run twice. Beyond it the clock was wrong when the due time was recorded, and waiting for it would skip
// runs.
const maxAhead = time.Hour

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
		*line = Timeline{ScheduleHash: p.ScheduleHash, Last: begin, Ahead: line.Ahead}
	}
	if p.Over.After(line.Last) && !p.Over.After(p.now) { // later than now, it is of a clock that was set back since
		line.Last = p.Over
	}
	p.followClock()
	next, comes := p.Schedule.Next(line.Last)
	if comes && !next.After(p.now) {
		newest, count := p.Schedule.Between(line.Last, p.now)
		line.Last = newest
		p.settle(newest, count)
		next, comes = p.Schedule.Next(newest)
	}
	if comes {
		p.plan.NextRun = next
		p.look(next)
	}
}

// followClock aligns the newest due time with the runs and with the clock. Runs up to Ahead were started while the
// clock was wrong; they say nothing about the current due times.
func (p *planner) followClock() {
	line := &p.plan.Timeline
	if !line.Ahead.After(p.now) {
		line.Ahead = time.Time{}
	}
	for i := range p.runs { // a run whose creation is all that was stored of a decision
		if at := p.runs[i].ScheduledAt; at.After(line.Last) && at.After(line.Ahead) {
			line.Last = at
		}
	}
	if line.Last.After(p.now.Add(punctual)) && line.Last.After(line.Ahead) {
		line.Ahead = line.Last
	}
	if limit := p.now.Add(maxAhead); line.Last.After(limit) {
		line.Last = limit
	}
	if !line.Ahead.IsZero() {
		p.look(line.Ahead)
	}
}

// settle starts the run of the newest of several due times, or records why not.
func (p *planner) settle(newest time.Time, count int) {
	switch {
	case p.Suspend:
		p.miss(newest, count, MissedSuspended)
	case p.now.Sub(newest) > max(p.StartingDeadline, punctual):
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
	for i := range p.runs {
		if p.runs[i].active() {
			return true
		}
	}
	return false
}
