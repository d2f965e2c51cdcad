package server

import (
	"time"

	container "tend.dev/tend/internal/node/runtime"
)

// sentLines records which lines of a container's output were sent, so that nothing is repeated when an engine's stream
// restarts at the beginning of its file (it was rotated under a flood, or the stream was cut). Lines of one stream are
// in the order of their times.
type sentLines struct {
	// last is the time of the line that was sent last.
	last    time.Time
	streams map[string]*sentStream
}

// sentStream records the position in one stream (stdout or stderr) by the time of its last line.
type sentStream struct {
	at time.Time
	// lines is the number of lines sent with exactly that time; again counts those of them that were repeated.
	lines, again int
	repeats      bool
}

// before reports whether a line was sent before, and records it if it wasn't.
func (t *sentLines) before(line container.LogLine, now time.Time) bool {
	if line.At.IsZero() {
		return false // its time is unknown
	}
	if t.streams == nil {
		t.streams = map[string]*sentStream{}
	}
	s := t.streams[line.Stream]
	if s == nil {
		s = &sentStream{}
		t.streams[line.Stream] = s
	}
	if s.before(line, now) {
		return true
	}
	t.last = line.At
	return false
}

func (s *sentStream) before(line container.LogLine, now time.Time) bool {
	switch {
	case line.At.Before(s.at) && !s.at.After(now):
		s.repeats, s.again = true, 0
		return true
	case line.At.Equal(s.at) && s.repeats && s.again < s.lines:
		s.again++
		return true
	case line.At.Equal(s.at):
		s.lines, s.again = s.lines+1, s.again+1
	default: // newer; or older, because the clock was set back
		*s = sentStream{at: line.At, lines: 1}
	}
	return false
}
