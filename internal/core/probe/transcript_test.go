package probe_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestTranscripts replays containers' lives. Rewrite testdata with -rewrite. The commands:
//
//	start [spread=0.5]     a container starts; its input declares a probe a line: kind [delay= period= fails= passes=]
//	agent [spread=0.5]     the agent restarts: a new machine of the same container, from what was stored
//	container              the container restarts: a new incarnation
//	run for=30s [takes=1s] time passes; its input says what each probe answers: kind answer…, the last for ever
//
// Each attempt is a line: when, since the start of the container, what, the answer, and the verdict if that changed.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{now: start}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return s.do(t, d)
		})
	})
}

type story struct {
	probes  api.Probes
	machine *probe.Machine
	stored  map[string]api.ProbeStatus
	started time.Time
	now     time.Time
	spread  float64
	grace   time.Duration
}

func (s *story) do(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if d.HasArg("spread") {
		s.spread = 0
		var text string
		d.ScanArgs(t, "spread", &text)
		if _, err := fmt.Sscan(text, &s.spread); err != nil {
			t.Fatal(err)
		}
	}
	switch d.Cmd {
	case "start":
		s.grace = 0
		if d.HasArg("grace") {
			d.ScanArgs(t, "grace", &s.grace)
		}
		s.probes = parseProbes(t, d.Input)
		s.started = s.now
		s.begin(probe.Carry(&s.probes, nil, false, s.now))
	case "agent":
		s.begin(probe.Carry(&s.probes, s.stored, true, s.now))
	case "container":
		s.started = s.now
		s.begin(probe.Carry(&s.probes, s.stored, false, s.now))
	case "run":
		return s.run(t, d)
	default:
		t.Fatalf("unknown command %s", d.Cmd)
	}
	return s.phases() + "\n"
}

func (s *story) begin(status map[string]api.ProbeStatus) {
	s.machine = probe.New(probe.Options{
		Probes: s.probes, Status: status, StartedAt: s.started, Grace: s.grace, Spread: func() float64 { return s.spread },
	})
	s.stored = s.machine.Status()
}

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var span, takes time.Duration
	d.ScanArgs(t, "for", &span)
	if d.HasArg("takes") {
		d.ScanArgs(t, "takes", &takes)
	}
	answers := parseAnswers(d.Input)
	var out strings.Builder
	for end := s.now.Add(span); ; {
		next, ok := s.machine.Next(s.now)
		if !ok || next.After(end) {
			s.now = end
			break
		}
		if next.After(s.now) {
			s.now = next
		}
		for _, ask := range s.machine.Due(s.now) {
			fmt.Fprintf(&out, "%8s %-9s ", s.now.Sub(s.started).Round(time.Millisecond), ask.Kind)
			s.now = s.now.Add(takes)
			out.WriteString(s.answer(ask.Kind, answers) + "\n")
		}
	}
	if out.Len() == 0 {
		return "nothing is asked\n"
	}
	return out.String()
}

func (s *story) answer(kind probe.Kind, answers map[probe.Kind][]string) string {
	left := answers[kind]
	answer := "pass"
	if len(left) > 0 {
		answer = left[0]
	}
	if len(left) > 1 {
		answers[kind] = left[1:]
	}
	changed := s.machine.Answer(kind, probe.Result{Pass: answer == "pass", Void: answer == "void", Message: answer}, s.now)
	if !changed {
		return answer
	}
	s.stored = s.machine.Status()
	return answer + " -> " + s.phases()
}

func (s *story) phases() string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.stored)) {
		status := s.stored[kind]
		text := fmt.Sprintf("%s %s #%d", kind, status.Phase, status.Transition)
		if status.Before != "" {
			text += " after " + string(status.Before)
		}
		parts = append(parts, text)
	}
	verdict := probe.Judge(s.stored)
	word := verdict.Reason
	if verdict.Ready {
		word = "ready"
	}
	return strings.Join(parts, ", ") + "; " + word
}

func parseProbes(t *testing.T, input string) api.Probes {
	t.Helper()
	var out api.Probes
	for line := range strings.Lines(input) {
		fields := strings.Fields(line)
		p := &api.Probe{TCPSocket: &api.TCPSocket{Port: 80}}
		for _, field := range fields[1:] {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "delay":
				p.InitialDelay = api.Duration(value)
			case "period":
				p.Period = api.Duration(value)
			case "fails":
				_, _ = fmt.Sscan(value, &p.FailureThreshold)
			case "passes":
				_, _ = fmt.Sscan(value, &p.SuccessThreshold)
			default:
				t.Fatalf("unknown %s", field)
			}
		}
		switch probe.Kind(fields[0]) {
		case probe.Startup:
			out.Startup = p
		case probe.Liveness:
			out.Liveness = p
		case probe.Readiness:
			out.Readiness = p
		}
	}
	return out
}

func parseAnswers(input string) map[probe.Kind][]string {
	out := map[probe.Kind][]string{}
	for line := range strings.Lines(input) {
		if fields := strings.Fields(line); len(fields) > 0 {
			out[probe.Kind(fields[0])] = fields[1:]
		}
	}
	return out
}
