package healing

import (
	"maps"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

// How often a container that its liveness or startup probe gave up is restarted in place, and the pause between two
// restarts: none before the first, then restartBackoff, doubled each time.
const (
	probeRestarts  = 3
	restartWindow  = 10 * time.Minute
	restartBackoff = 10 * time.Second
	keptRestarts   = 5
)

// carryProbes copies the state of this incarnation's probes.
func (p *planner) carryProbes() {
	c, next := p.Container, &p.out.Status
	same := p.incarnation()
	if p.Probes == nil {
		next.Probes = probe.Carry(nil, p.Status.Probes, same, c.StartedAt)
		return
	}
	last := p.Status.Probes
	if same && p.Probes.Container == c.ID && p.Probes.StartedAt.Equal(c.StartedAt) {
		last = p.Probes.Answers
	}
	if p.Probes.Source != "" {
		last = p.adoptReady(last, same)
	}
	next.Probes = probe.Carry(&p.Probes.Declared, last, same, c.StartedAt)
	if readiness, ok := next.Probes[string(probe.Readiness)]; ok {
		readiness.Source = p.Probes.Source
		next.Probes[string(probe.Readiness)] = readiness
	}
}

// adoptReady begins a readiness probe of the image's as healthy if the container served before it was known, as after
// an upgrade from a version that didn't ask it: what serves isn't taken out of service before it fails.
func (p *planner) adoptReady(last map[string]api.ProbeStatus, same bool) map[string]api.ProbeStatus {
	if _, known := last[string(probe.Readiness)]; known || !same || !p.Status.Ready {
		return last
	}
	out := map[string]api.ProbeStatus{string(probe.Readiness): {Phase: api.ProbeHealthy, Since: p.Container.StartedAt}}
	maps.Copy(out, last)
	return out
}

// up handles a running container. Its probes decide the rest; without them it is ready.
func (p *planner) up() {
	p.advance(api.TaskRunning)
	verdict := probe.Judge(p.out.Status.Probes)
	switch {
	case verdict.Failed || p.restartDecided():
		p.lifeless()
	case verdict.Ready:
		p.out.Probe = true
		p.ready()
	default:
		p.out.Probe = true
		steady := p.Status.Steady && p.incarnation()
		p.unready(verdict.Reason, verdict.Message)
		p.out.Status.Steady = steady
		p.watchSteady()
	}
}

// lifeless restarts a container its probes gave up, when the pause since the last restart is over. The decision stays,
// whatever the probes say while the container stops.
func (p *planner) lifeless() {
	if !p.restartDecided() {
		if left := p.restingFor(); left > 0 {
			reason, message := p.lifelessWords()
			p.unready(reason, message+"; it is restarted at "+p.now.Add(left).UTC().Format(time.TimeOnly)+" UTC")
			p.recheckAfter(left)
			p.out.Probe = true // it may recover
			return
		}
		p.decideRestart()
	}
	if p.givenUpByProbes() {
		p.giveUpLifeless()
		return
	}
	reason, message := p.lifelessWords()
	p.stop()
	p.down(reason, message+"; it is being restarted")
}

// decideRestart records the time, a moment after the start at the earliest: the time identifies the incarnation.
func (p *planner) decideRestart() {
	at := p.now
	if !at.After(p.Container.StartedAt) {
		at = p.Container.StartedAt.Add(1)
	}
	next := &p.out.Status
	times := append(append([]time.Time(nil), next.LivenessRestarts...), at)
	next.LivenessRestarts = times[max(0, len(times)-keptRestarts):]
}

// restartDecided reports whether the probes gave up the observed incarnation.
func (p *planner) restartDecided() bool {
	times := p.out.Status.LivenessRestarts
	return len(times) > 0 && times[len(times)-1].After(p.Container.StartedAt)
}

// restingFor returns how long the next restart has to wait. A recorded time in the future means that the clock was set
// back since.
func (p *planner) restingFor() time.Duration {
	times := p.out.Status.LivenessRestarts
	if len(times) == 0 || times[len(times)-1].After(p.now) {
		return 0
	}
	backoff := restartBackoff / 2
	for _, at := range times[max(0, len(times)-probeRestarts):] {
		if p.now.Sub(at) < restartWindow {
			backoff *= 2
		}
	}
	if backoff < restartBackoff {
		return 0
	}
	return times[len(times)-1].Add(backoff).Sub(p.now)
}

// givenUpByProbes depends only on the recorded times, so that it stays so however long stopping takes.
func (p *planner) givenUpByProbes() bool {
	times := p.out.Status.LivenessRestarts
	n := len(times)
	return n > probeRestarts && times[n-1].Sub(times[n-1-probeRestarts]) <= restartWindow
}

// giveUpLifeless fails the task once its container has stopped.
func (p *planner) giveUpLifeless() {
	reason, message := p.lifelessWords()
	message += ", also after 3 restarts within 10 minutes"
	if p.Container.live() {
		p.stop()
		p.down(reason, message+"; it is being stopped")
		return
	}
	p.end(api.TaskFailed, reason, message)
}

func (p *planner) lifelessWords() (reason, message string) {
	if verdict := probe.Judge(p.out.Status.Probes); verdict.Failed {
		return verdict.Reason, verdict.Message
	}
	return api.ReasonLivenessFailed, "the liveness probe failed"
}

// unready reports that the container runs and its probes say it can't serve. A crash loop takes precedence.
func (p *planner) unready(reason, message string) {
	if p.out.Status.CrashLoop {
		p.looping()
		return
	}
	p.down(reason, message)
}

// recheckAfter sets After, unless an earlier time is set.
func (p *planner) recheckAfter(d time.Duration) {
	if p.out.After == 0 || d < p.out.After {
		p.out.After = d
	}
}
