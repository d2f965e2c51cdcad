package timetable

import (
	"slices"
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
		p.keepUnknown()
		line.Unknown = span
	}
	line.Last, line.Over = p.Over, p.Over
}

// secondAfter returns the whole second after a time: the end of a span that contains a due time at that time.
func secondAfter(at time.Time) time.Time { return at.Truncate(time.Second).Add(time.Second) }

// mostUnknown bounds Timeline.Earlier.
const mostUnknown = mostSkipped / 2

// keepUnknown makes room for the span of another restore. Of more restores than mostUnknown the oldest one counts as
// long ago: its due times run when their time comes.
func (p *planner) keepUnknown() {
	line := &p.plan.Timeline
	if line.Unknown == (api.TimeSpan{}) {
		return
	}
	line.Earlier = append(slices.Clone(line.Earlier), line.Unknown)
	if len(line.Earlier) > mostUnknown {
		p.skip(line.Earlier[0])
		line.Earlier = line.Earlier[1:]
	}
}

// limitUnknown bounds, once the clock was set back, for how long due times that restores dealt with begin no run. The
// later ones were passed over by a clock that was ahead.
func (p *planner) limitUnknown() {
	line := &p.plan.Timeline
	line.Earlier = slices.Clone(line.Earlier)
	for i := range line.Earlier {
		p.limit(&line.Earlier[i])
	}
	p.limit(&line.Unknown)
}

func (p *planner) limit(unknown *api.TimeSpan) {
	limit := later(p.now.Add(maxAhead), unknown.After)
	if span := (api.TimeSpan{After: limit, Before: unknown.Before}); p.names(span) {
		p.skip(span)
		unknown.Before = secondAfter(limit)
	}
}
