package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// progress shows the state of waits.
type progress interface {
	update(all []seen)
	// tick is called now and then while nothing changes.
	tick()
	// away shows that the server doesn't answer at the moment.
	away(server string)
	// timedOut is called when the wait ends before its objects are done: the error that follows gives the causes.
	timedOut()
}

// newProgress returns a block per object, redrawn in place, for a terminal; a line per change for other outputs; and
// nothing if the output is for programs.
func (a *app) newProgress(waits []wait) progress {
	switch {
	case a.structured() || a.output == "name":
		return silent{}
	case terminal(a.err) && os.Getenv("TERM") != "dumb" &&
		!slices.ContainsFunc(waits, func(w wait) bool { return w.build != "" }):
		// what a build prints would be drawn over
		return &block{out: verbatim(a.err), paint: paintFor(a.err)}
	}
	return newLines(a.err)
}

func newLines(out io.Writer) *lines {
	return &lines{
		out: plain{out}, said: map[api.Ref]string{}, text: map[api.Ref]string{}, pods: map[[2]string]printed{},
		times: map[line]int{}, most: map[line]int{}, closed: map[api.Ref]bool{},
	}
}

type silent struct{}

func (silent) update([]seen) {}
func (silent) tick()         {}
func (silent) away(string)   {}
func (silent) timedOut()     {}

// lines prints a line whenever the state of a slot, or what its object waits for, changes.
type lines struct {
	out plain
	// said is the last reason printed for each object, text the last line, and pods the last state printed for each pod:
	// a task's id with its name, because the pods of an ordinal share one.
	said, text map[api.Ref]string
	pods       map[[2]string]printed
	// times counts the lines that say the same of the same object, most is the highest number of pods that a release
	// had at once, and closed are the objects whose repeats are left out.
	times, most map[line]int
	closed      map[api.Ref]bool
	gone        bool
}

// line is the content of a line about an object, or about a pod of one of its releases; numbers in it don't count.
type line struct {
	ref           api.Ref
	release, text string
}

// repeats is the number of equal lines allowed besides one for each pod: a step that is retried for days prints the
// same each time.
const repeats = 3

// fresh counts a line, and reports whether it is to be printed.
func (l *lines) fresh(s seen, release, text string) bool {
	live := 0
	for _, pod := range s.Pods {
		if release == pod.Release && pod.Desired == api.DesiredRunning && !pod.State.Terminal() {
			live++
		}
	}
	pods, key := line{ref: s.Ref, release: release}, line{s.Ref, release, unnumbered(text)}
	l.most[pods] = max(l.most[pods], live)
	l.times[key]++
	if l.times[key] <= l.most[pods]+repeats {
		return true
	}
	if !l.closed[s.Ref] {
		l.closed[s.Ref] = true
		l.out.printf("  %s: more of the same is not shown; it goes on: tend get pods %s/%s\n", s.Ref, s.Ref.Scope, s.Ref.Name)
	}
	return false
}

func (l *lines) away(server string) {
	if !l.gone {
		l.out.printf("the server at %s does not answer; waiting for it\n", server)
	}
	l.gone = true
}

func (l *lines) tick() {}

func (l *lines) timedOut() {}

func (l *lines) update(all []seen) {
	if l.gone {
		l.out.printf("the server answers again\n")
	}
	l.gone = false
	for _, s := range all {
		l.printPods(s)
		l.printObject(s)
	}
}

// printPods prints the pods that changed. It skips pods that existed before and don't change.
func (l *lines) printPods(s seen) {
	_, before := l.said[s.Ref]
	for _, pod := range s.Pods {
		key, state := [2]string{pod.Name, pod.Task}, printed{podState(pod) + answered(pod), stageOf(pod)}
		last, known := l.pods[key]
		if state.stage < last.stage {
			continue // its node has forgotten it already
		}
		l.pods[key] = state
		old := !before && (pod.CreatedAt.Before(s.UpdatedAt) || s.State != api.OutcomePending)
		if last == state || !known && old {
			continue
		}
		if l.fresh(s, pod.Release, state.text) {
			l.out.printf("  %s %s %s\n", pod.Name, pod.Release, state.text)
		}
	}
}

// printed is the last line printed about a pod, and the pod's progress then.
type printed struct {
	text  string
	stage int
}

// stageOf returns how far a pod is in its life. None goes back.
func stageOf(pod api.Pod) int {
	switch {
	case pod.State.Terminal():
		return 2
	case pod.Desired != api.DesiredRunning:
		return 1
	}
	return 0
}

// answered returns what the probe that keeps a pod from being ready answered last; empty if there is none, or it didn't
// answer.
func answered(pod api.Pod) string {
	for _, kind := range []string{"startup", "readiness"} {
		if !pod.Ready && pod.Probes[kind].Message != "" && pod.Probes[kind].Phase != api.ProbeHealthy {
			head, _, _ := strings.Cut(pod.Message, "\n")
			return strings.TrimSuffix(": "+head, ": ")
		}
	}
	return ""
}

// printObject prints a line when an object's reason changes; the pods' lines already show changed counts. The verdict
// reports trouble.
func (l *lines) printObject(s seen) {
	key := s.Reason + fmt.Sprint(s.State)
	if l.said[s.Ref] == key {
		return
	}
	l.said[s.Ref] = key
	head, _, _ := strings.Cut(s.Message, "\n")
	if l.saidElsewhere(s, head) || s.State == api.OutcomePending && !l.fresh(s, "", head) {
		return
	}
	l.text[s.Ref] = head
	l.out.printf("%s: %s\n", s.Ref, head)
	if s.State == api.OutcomePending && s.Next != "" {
		l.out.printf("  "+nextLabel+"%s\n", s.Next+meanwhile(s))
	}
}

// meanwhile returns that the user need not wait for a container engine that is away.
func meanwhile(s seen) string {
	if s.Reason != api.ReasonEngineUnavailable {
		return ""
	}
	return "; Ctrl-C is safe"
}

// saidElsewhere reports whether another line says the same of an object: one that was printed or, at the end, will be.
func (l *lines) saidElsewhere(s seen, head string) bool {
	switch s.State {
	case api.OutcomePending: // where it is as declared and only pods end, the last line says it
		return s.Reason == "Unseen" || s.Reason == api.ReasonConverged || head == l.text[s.Ref]
	case api.OutcomeConverged: // of what is only stored, the answer above says it
		return s.answeredBelow() || head == l.text[s.Ref] || s.Reason == "Registered" && l.text[s.Ref] == ""
	}
	return true // the verdict
}
