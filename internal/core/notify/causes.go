package notify

import (
	"slices"
	"time"

	"tend.dev/tend/api"
)

// The defaults of a sink's message, and the most causes that are known one by one.
const (
	DefaultGather = 10 * time.Second
	DefaultPause  = time.Minute
	DefaultQuiet  = 30 * time.Minute
	DefaultRepeat = 24 * time.Hour
	MaxCauses     = 100
)

// Settings say how often people get messages.
type Settings struct {
	Gather, Pause, Quiet, Repeat time.Duration
	// Resolved: a message says that a cause is resolved.
	Resolved bool
}

// SettingsOf returns what a sink declares, with the defaults.
func SettingsOf(m *api.SinkMessage) Settings {
	if m == nil {
		m = &api.SinkMessage{}
	}
	return Settings{
		Gather: m.Gather.Or(DefaultGather), Pause: m.Pause.Or(DefaultPause), Quiet: m.Quiet.Or(DefaultQuiet),
		Repeat:   m.Repeat.Or(DefaultRepeat),
		Resolved: m.Resolved == nil || *m.Resolved,
	}
}

// What is the meaning of an event for an object.
type What int

// The values of What.
const (
	Failed What = iota
	// Recovered: whatever the object failed for, it is as it should be.
	Recovered
	// Removed: the object is gone.
	Removed
)

// AskedFor reports whether a person asked for a failure, and so needs no message: a run or a lab was stopped, an
// operation was cancelled, or gave way to a newer one.
func AskedFor(kind api.Kind, reason string) bool {
	switch reason {
	case api.ReasonStopped:
		return kind.HasRuns() || kind.TimeBoxed()
	case api.ReasonUserCancelled, api.ReasonSupersededByOperation:
		return kind == api.KindOperation
	}
	return false
}

// Signal is the statement of an event about an object. Cause has the object, and of a failure the reason, message,
// release and id.
type Signal struct {
	What  What
	Cause api.SinkCause
	At    time.Time
}

// Observe returns the causes after a signal. It changes nothing of what it is given.
func Observe(known api.SinkCauses, set Settings, s Signal) api.SinkCauses {
	known.Open = slices.Clone(known.Open)
	if s.What != Failed {
		for i := range known.Open {
			if known.Open[i].UID == s.Cause.UID && known.Open[i].ResolvedAt.IsZero() {
				known.Open[i] = resolved(known.Open[i], set, s)
			}
		}
		return known
	}
	same := func(c api.SinkCause) bool { return c.UID == s.Cause.UID && c.Reason == s.Cause.Reason }
	if at := slices.IndexFunc(known.Open, same); at >= 0 {
		known.Open[at] = again(known.Open[at], set, s)
		return known
	}
	unsaid := func(c api.SinkCause) bool { return c.UID == s.Cause.UID && failureWaits(c) && c.MessageAt.IsZero() }
	if at := slices.IndexFunc(known.Open, unsaid); at >= 0 { // an object is named once: what failed first led to this
		known.Open[at] = instead(known.Open[at], s)
		return known
	}
	if known.Open = room(known.Open, set, s.At); len(known.Open) >= MaxCauses {
		known.More++
		if known.MoreSince.IsZero() {
			known.MoreSince = s.At
		}
		return known
	}
	fresh := s.Cause
	fresh.Since, fresh.Count, fresh.WaitingSince = since(s), 1, s.At
	known.Open = append(known.Open, fresh)
	return known
}

// resolved returns a cause that is resolved. A failure that no message has mentioned yet still waits for its own.
func resolved(c api.SinkCause, set Settings, s Signal) api.SinkCause {
	c.ResolvedAt, c.Announced = s.At, false
	switch {
	case failureWaits(c):
	case s.What == Recovered && set.Resolved:
		c.WaitingSince, c.Recovery, c.ID = s.At, true, s.Cause.ID
	default:
		c.WaitingSince, c.Announced = time.Time{}, true
	}
	return c
}

// again returns a cause that failed once more.
func again(c api.SinkCause, set Settings, s Signal) api.SinkCause {
	recovered, waited := !c.ResolvedAt.IsZero() && c.Announced, failureWaits(c)
	c.Message, c.Release, c.ID = s.Cause.Message, s.Cause.Release, s.Cause.ID
	c.ResolvedAt, c.Announced, c.Recovery = time.Time{}, false, false
	c.Count++
	switch {
	case waited:
	case recovered:
		c.Since, c.Count, c.WaitingSince = since(s), 1, s.At
	case s.At.Sub(c.MessageAt) >= set.Repeat:
		c.WaitingSince = s.At
	default: // no message has mentioned the recovery: to people the object fails as before
		c.WaitingSince = time.Time{}
	}
	return c
}

// instead returns a cause of which no message was sent yet, with the reason that followed it.
func instead(c api.SinkCause, s Signal) api.SinkCause {
	next := s.Cause
	next.Since, next.Count, next.WaitingSince = c.Since, c.Count+1, c.WaitingSince
	return next
}

// since returns when the failure of a signal happened, which may be long before it is seen.
func since(s Signal) time.Time {
	if s.Cause.Since.IsZero() {
		return s.At
	}
	return s.Cause.Since
}

// failureWaits reports whether a message is to say that the cause fails.
func failureWaits(c api.SinkCause) bool { return !c.WaitingSince.IsZero() && !c.Recovery }

// room drops what says nothing any more; and if the list is full, the cause whose message is the oldest.
func room(open []api.SinkCause, set Settings, now time.Time) []api.SinkCause {
	quiet := func(c api.SinkCause) bool { return c.WaitingSince.IsZero() && now.Sub(c.MessageAt) >= set.Quiet }
	open = slices.DeleteFunc(open, func(c api.SinkCause) bool { return quiet(c) && !c.ResolvedAt.IsZero() })
	if len(open) < MaxCauses {
		return open
	}
	oldest := -1
	for i, c := range open {
		if quiet(c) && (oldest < 0 || c.MessageAt.Before(open[oldest].MessageAt)) {
			oldest = i
		}
	}
	if oldest < 0 {
		return open
	}
	return slices.Delete(open, oldest, oldest+1)
}
