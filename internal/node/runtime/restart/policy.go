package restart

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The names of the policies.
const (
	No            = "no"
	Always        = "always"
	UnlessStopped = "unless-stopped"
	OnFailure     = "on-failure"
)

// Policy is a parsed restart policy. The zero value is "no".
type Policy struct {
	Name string
	// MaxRetries bounds the restarts of on-failure; 0 means no bound.
	MaxRetries int
}

// Parse parses no, always, unless-stopped, on-failure or on-failure:N; empty is "no".
func Parse(text string) (Policy, error) {
	name, count, counted := strings.Cut(text, ":")
	switch {
	case text == "":
		return Policy{Name: No}, nil
	case counted && name != OnFailure:
		return Policy{}, fmt.Errorf("restart policy %q: only on-failure takes a count", text)
	case name != No && name != Always && name != UnlessStopped && name != OnFailure:
		return Policy{}, fmt.Errorf("restart policy %q is not no, always, unless-stopped or on-failure[:N]", text)
	case !counted:
		return Policy{Name: name}, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return Policy{}, fmt.Errorf("restart policy %q: the count is not a number", text)
	}
	return Policy{Name: name, MaxRetries: n}, nil
}

func (p Policy) String() string {
	switch {
	case p.Name == "":
		return No
	case p.MaxRetries > 0:
		return p.Name + ":" + strconv.Itoa(p.MaxRetries)
	}
	return p.Name
}

// End describes the end of a container's process.
type End struct {
	ExitCode int
	// Restarts is the number of restarts by the policy since its last start on request.
	Restarts int
	// Stopped is set if the container was stopped or killed through the engine. No policy then restarts it right away.
	Stopped bool
}

// Restarts reports whether the policy starts the container again right after an end.
func (p Policy) Restarts(end End) bool {
	if end.Stopped {
		return false
	}
	switch p.Name {
	case Always, UnlessStopped:
		return true
	case OnFailure:
		return end.ExitCode != 0 && (p.MaxRetries == 0 || end.Restarts < p.MaxRetries)
	}
	return false
}

// The waits before a restart: doubled from the first to the longest, and reset after a run of resetAfter.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = time.Minute
	resetAfter  = 10 * time.Second
)

// Backoff computes the waits before restarts of one container. The zero value is for a container that never ended.
type Backoff struct{ last time.Duration }

// Next returns the wait after a run that lasted for ran.
func (b *Backoff) Next(ran time.Duration) time.Duration {
	switch {
	case b.last == 0 || ran >= resetAfter:
		b.last = firstWait
	default:
		b.last = min(2*b.last, longestWait)
	}
	return b.last
}
