package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
)

// describePod shows one pod.
func (a *app) describePod(pod api.Pod) error {
	if a.structured() || a.output == "name" {
		return listing{value: pod, names: []string{pod.Name}}.write(a.streams, a.output)
	}
	return a.composed(func(a *app) error {
		writePod(plain{a.out}, pod, time.Now())
		return nil
	})
}

func writePod(w plain, pod api.Pod, now time.Time) {
	w.printf("%s  %s\n", pod.Name, podState(pod))
	for _, fact := range podFacts(pod, now) {
		if fact[1] != "" && fact[1] != "-" {
			w.printf("  %-10s %s\n", fact[0], fact[1])
		}
	}
	describeProbes(w, pod, now)
	describeTrouble(w, pod)
}

func podFacts(pod api.Pod, now time.Time) [][2]string {
	process := ""
	if pod.PID > 0 {
		process = fmt.Sprint(pod.PID)
	}
	return [][2]string{
		{"object", pod.Owner().String()},
		{"release", podRelease(pod)},
		{"image", pod.Image},
		{"image id", pod.ImageID},
		{"node", pod.Node},
		{"container", pod.Container},
		{"process", process},
		{"address", pod.Address},
		{"ports", portText(pod.Ports)},
		{"record", pod.Task},
		{"starts", fmt.Sprint(pod.Incarnations)},
		{"created", ago(pod.CreatedAt, now)},
		{"started", ago(pod.StartedAt, now)},
		{"ready", ago(pod.ReadyAt, now)},
		{"ended", ago(pod.FinishedAt, now)},
		{"last end", lastEnd(pod, now)},
	}
}

// lastEnd returns a text with the last end of a pod's container, before its restart in place.
func lastEnd(pod api.Pod, now time.Time) string {
	how := healing.LastEnd(api.TaskStatus{Exits: pod.Exits, ExitCode: pod.ExitCode, OOMKilled: pod.OOMKilled})
	if how == "" || !pod.FinishedAt.IsZero() { // then the message says it
		return ""
	}
	return how + ", " + ago(pod.Exits[len(pod.Exits)-1], now)
}

// describeProbes writes the state of each probe, since when, and why its last failure was one.
func describeProbes(w plain, pod api.Pod, now time.Time) {
	for _, kind := range []string{"startup", "liveness", "readiness"} {
		probe, declared := pod.Probes[kind]
		if !declared {
			continue
		}
		line := fmt.Sprintf("%s for %s", probe.Phase, age(probe.Since, now))
		if probe.Source != "" {
			line += fmt.Sprintf(" (source: %s)", probe.Source)
		}
		if probe.Message != "" {
			line += ": " + probe.Message
		}
		w.printf("  %-10s %s\n", kind, line)
	}
	if n := len(pod.LivenessRestarts); n > 0 {
		w.printf("  %-10s by its probes, %d in all, last %s\n", "given up", n, ago(pod.LivenessRestarts[n-1], now))
	}
}

func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", at.UTC().Format(time.RFC3339), age(at, now))
}

// describeTrouble writes why a pod isn't ready, with the last lines of its output. For a ready pod it writes nothing.
func describeTrouble(w plain, pod api.Pod) {
	if pod.Ready || pod.Message == "" && len(pod.LastLog) == 0 {
		return
	}
	head, rest, more := strings.Cut(pod.Message, "\n")
	w.printf("\n  %s: %s\n", pod.Name, head)
	if more {
		w.indent("    | ", rest)
	}
	if pod.Next != "" {
		w.printf("    "+nextLabel+"%s\n", pod.Next)
	}
	said, _ := lastTry(pod.LastLog)
	for _, line := range said {
		w.indent("    | ", line)
	}
}

// describeTroubles calls describeTrouble for an object's pods, newest first. It does not repeat a cause that the
// conditions or another pod gave.
func describeTroubles(w plain, pods []api.Pod, conditions []api.Condition) {
	said := map[string]bool{}
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(x, y api.Pod) int { return y.CreatedAt.Compare(x.CreatedAt) })
	degraded, ready := api.FindCondition(conditions, api.ConditionDegraded),
		api.FindCondition(conditions, api.ConditionReady)
	for _, pod := range pods {
		tried, _ := lastTry(pod.LastLog)
		log := strings.Join(tried, "\n")
		about := unnumbered(pod.Message + "\n" + log)
		if pod.Ready || pod.Message == "" && log == "" || said[about] {
			continue
		}
		said[about] = true
		known := degraded != nil && pod.Message != "" && strings.Contains(degraded.Message, pod.Message)
		switch {
		case known && log == "":
			continue
		case known:
			pod.Message, pod.Next = "its last lines", ""
		case ready != nil && ready.Status == api.ConditionTrue:
			pod.Next = "" // another has replaced it: there is nothing left to do
		}
		describeTrouble(w, pod)
	}
}
