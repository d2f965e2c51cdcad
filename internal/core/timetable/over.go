package timetable

import (
	"time"

	"tend.dev/tend/api"
)

// maxAhead bounds how long due times of an unknown past begin no run: those of a restore, or of a timeline of an older
// version, which noted none that were skipped.
const maxAhead = time.Hour

// passOver deals with the due times up to Over, once: if the clock is set back and comes to Over again, those that were
// passed over run. An Over later than now is of a clock that was set back since.
func (p *planner) passOver() {
	line := &p.plan.Timeline
	if !p.Over.After(line.Last) || p.Over.After(p.now) || p.Over.Equal(line.Over) {
		return
	}
	if span := (api.TimeSpan{After: later(line.Last, line.Ahead), Before: secondAfter(p.Over)}); p.names(span) {
		line.Unknown = span
	}
	line.Last, line.Over = p.Over, p.Over
}

// secondAfter returns the whole second after a time: the end of a span that contains a due time at that time.
func secondAfter(at time.Time) time.Time { return at.Truncate(time.Second).Add(time.Second) }

// limitUnknown bounds, once the clock was set back, for how long due times that a restore dealt with begin no run. The
// later ones were passed over by a clock that was ahead.
func (p *planner) limitUnknown() {
	line := &p.plan.Timeline
	limit := later(p.now.Add(maxAhead), line.Unknown.After)
	if span := (api.TimeSpan{After: limit, Before: line.Unknown.Before}); p.names(span) {
		p.skip(span)
		line.Unknown.Before = secondAfter(limit)
	}
}
