package timetable

import (
	"slices"
	"time"

	"tend.dev/tend/api"
)

// Due times and a clock that jumps, because another server leads or someone sets it:
//
// A due time is dealt with once, whatever the clock says later. If the newest one on record (Timeline.Last) is ahead of
// the clock, the mark moves to Timeline.Ahead, and due times are dealt with from now on again. Those up to Ahead have
// been, except the skipped ones: the jump that brought the clock ahead passed over them, or they lie before the
// schedule began. So these run when their time comes, and the others run no second time.

// mostSkipped bounds Timeline.Skipped: of more jumps of a clock, and downtimes, the oldest are forgotten.
const mostSkipped = 8

// followClock aligns the newest due time with the runs and with the clock.
func (p *planner) followClock() {
	line := &p.plan.Timeline
	for i := range p.runs { // a run whose creation is all that was stored of a decision
		at := p.runs[i].ScheduledAt
		if at.After(line.Last) && at.After(line.Ahead) {
			p.advance(at)
		}
		if line.passedOver(at) {
			p.take(at)
		}
	}
	if !line.Last.After(p.now.Add(punctual)) {
		return
	}
	if limit := p.now.Add(maxAhead); len(line.Skipped) == 0 && line.Last.After(limit) {
		p.skip(api.TimeSpan{After: limit, Before: line.Last})
	}
	p.limitUnknown()
	line.Ahead = later(line.Ahead, line.Last)
	line.Last = p.now
	for _, span := range line.Skipped {
		switch {
		case !holds(span, p.now):
		case span.After.IsZero(): // the schedule began later: nothing is made up for
			line.Last = earlier(line.Last, p.now.Add(-punctual))
		default: // what has come since is not too late yet
			line.Last = earlier(line.Last, later(span.After, p.stillBegins()))
		}
	}
	if line.LastMissed.After(p.now) { // it will come
		line.LastMissed, line.Why = time.Time{}, ""
	}
}

// stillBegins returns an instant just before the oldest one whose due time is not too late.
func (p *planner) stillBegins() time.Time {
	return p.now.Add(-max(p.StartingDeadline, punctual) - time.Second)
}

// reachAhead forgets the mark once the clock has reached it.
func (p *planner) reachAhead() {
	line := &p.plan.Timeline
	switch {
	case line.Ahead.IsZero():
	case line.Ahead.After(p.now):
		p.look(line.Ahead)
	default:
		line.Last = later(line.Last, line.Ahead)
		line.Ahead = time.Time{}
	}
}

// open returns the newest due time after Last that has come and was not dealt with, and how many there are. Those that
// the clock once passed over count as missed already: only the newest matters, and only while it may still begin a run.
func (p *planner) open() (newest time.Time, count int) {
	line := &p.plan.Timeline
	if from := later(line.Last, line.Ahead); from.Before(p.now) {
		newest, count = p.Schedule.Between(from, p.now)
	}
	if count > 0 || line.Ahead.IsZero() {
		return newest, count
	}
	from := later(line.Last, p.stillBegins())
	for _, span := range line.Skipped {
		until := earlier(p.now, span.Before.Add(-time.Second))
		if at, n := p.Schedule.Between(later(from, span.After), until); n > 0 && at.After(newest) {
			newest, count = at, 1
		}
	}
	return newest, count
}

// next returns the first due time to come that was not dealt with.
func (p *planner) next() (next time.Time, comes bool) {
	line := &p.plan.Timeline
	if line.Ahead.IsZero() {
		return p.Schedule.Next(line.Last)
	}
	next, comes = p.Schedule.Next(later(line.Last, line.Ahead))
	for _, span := range line.Skipped {
		at, ok := p.Schedule.Next(later(later(line.Last, p.now), span.After))
		if ok && at.Before(span.Before) && (!comes || at.Before(next)) {
			next, comes = at, true
		}
	}
	return next, comes
}

// advance deals with the due times up to one, which is the newest. Those before it are passed over, and itself if it is
// too late.
func (p *planner) advance(newest time.Time) {
	line := &p.plan.Timeline
	from, until := later(line.Last, line.Ahead), newest
	line.Last = newest
	if !newest.After(line.Ahead) {
		p.take(newest)
		return
	}
	if p.tooLate(newest) {
		until = newest.Add(time.Second)
	}
	if span := (api.TimeSpan{After: from, Before: until}); p.names(span) {
		p.skip(span)
	}
}

// take takes a due time out of those that were skipped.
func (p *planner) take(due time.Time) {
	line := &p.plan.Timeline
	var kept []api.TimeSpan
	for _, span := range line.Skipped {
		if !holds(span, due) {
			kept = append(kept, span)
			continue
		}
		for _, part := range []api.TimeSpan{{After: span.After, Before: due}, {After: due, Before: span.Before}} {
			if p.names(part) {
				kept = append(kept, part)
			}
		}
	}
	line.Skipped = kept[max(len(kept)-mostSkipped, 0):]
}

// passedOver reports whether the clock once passed over a due time.
func (t Timeline) passedOver(due time.Time) bool {
	return slices.ContainsFunc(t.Skipped, func(span api.TimeSpan) bool { return !span.After.IsZero() && holds(span, due) })
}

// awaits reports whether a due time was not dealt with, as far as the timeline says.
func (t Timeline) awaits(due time.Time) bool {
	return !due.IsZero() && (due.After(t.Last) && due.After(t.Ahead) || t.passedOver(due))
}

func holds(span api.TimeSpan, at time.Time) bool {
	return at.After(span.After) && at.Before(span.Before)
}

// names reports whether the schedule has a due time in a span.
func (p *planner) names(span api.TimeSpan) bool {
	due, ok := p.Schedule.Next(span.After)
	return ok && due.Before(span.Before)
}

// skip notes due times that were passed over.
func (p *planner) skip(span api.TimeSpan) {
	line := &p.plan.Timeline
	all := append(slices.Clone(line.Skipped), span)
	line.Skipped = all[max(len(all)-mostSkipped, 0):]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
