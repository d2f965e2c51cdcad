// Package deadline says how long a stored instant is still waited for, by a clock that is not the one that stored it:
// another server leads since, or someone has set the clock.
//
// The part that stores an instant to wait for knows how far ahead it can lie: a backoff of at most 30 s ends within 30
// s. One that lies further ahead was stored by a clock that was wrong, and waiting for it would last as long as the
// clock was off. So it delays nothing. Example: a call that failed is made again at its NextTryAt;
// deadline.Left(d.NextTryAt, now, longest) is the time to wait until then.
//
// It doesn't apply to instants that people chose, such as the start of a lab, nor to due times of a schedule: see
// core/timetable for those.
package deadline
