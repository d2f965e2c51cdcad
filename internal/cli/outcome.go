package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/probe"
)

func settled(all []seen) bool {
	return !slices.ContainsFunc(all, func(s seen) bool { return s.State == api.OutcomePending })
}

// warnOf prints the warnings of objects that have converged.
func (a *app) warnOf(all []seen) {
	for _, s := range all {
		if s.Warning != "" && s.State == api.OutcomeConverged {
			fmt.Fprintf(a.err, "warning: %s: %s\n", s.Ref, printable(s.Warning, "\n"))
		}
	}
}

// verdict returns the command's result: nil if all converged, else every trouble. An error decides the exit code.
func verdict(all []seen) error {
	worst := exitOK
	var texts []string
	for _, s := range all {
		switch s.State {
		case api.OutcomeFailed:
			worst = exitError
		case api.OutcomeHeld:
			if worst != exitError {
				worst = exitPaused
			}
		case api.OutcomeReplaced:
			if worst == exitOK {
				worst = exitReplaced
			}
		default:
			continue
		}
		texts = append(texts, trouble(s))
	}
	if worst == exitOK {
		return nil
	}
	title := map[int]string{exitPaused: titleNotConverged, exitReplaced: titleReplaced}[worst]
	return &exitStatus{code: worst, text: strings.Join(texts, "\n"), title: title}
}

// trouble returns the cause of a write's failure, with the last lines of the failed container and the next step.
func trouble(s seen) string {
	text := fmt.Sprintf("%s: %s", s.Ref, s.Cause)
	said, _ := lastTry(s.Log)
	for _, line := range said {
		text += "\n  | " + line
	}
	return text + nextLine("  ", s.Next)
}

func timedOut(all []seen, timeout time.Duration) error {
	text := fmt.Sprintf("not done after %s; the server keeps trying", timeout)
	for _, s := range all {
		if s.State != api.OutcomeConverged {
			head, _, _ := strings.Cut(s.Message, "\n")
			text += fmt.Sprintf("\n  %s: %s", s.Ref, head) + holdUps(s) + nextLine("    ", stepOf(s))
		}
	}
	return &exitStatus{code: exitTimeout, text: text, title: titleTimeout}
}

// stepOf returns what to do about a write that is still on its way: the step that the server names, or else the command
// that shows why a pod isn't ready.
func stepOf(s seen) string {
	object := s.Ref.Scope + "/" + s.Ref.Name
	for _, pod := range s.Pods {
		switch {
		case s.Next != "" || pod.Ready || !pod.Live() || pod.Next != "":
		case pod.State == api.TaskRunning:
			return cmp.Or(probe.Step(pod.Message), "tend logs "+object)
		default:
			return "tend describe " + object
		}
	}
	return s.Next
}

// holdUps returns what the pods say that are not ready, the first few of them.
func holdUps(s seen) (text string) {
	const few = 3
	shown := 0
	for _, pod := range s.Pods {
		if head, _, _ := strings.Cut(pod.Message, "\n"); !pod.Ready && head != "" && shown < few &&
			!strings.Contains(s.Message, head) {
			text += fmt.Sprintf("\n    %s: %s", pod.Name, printable(head, "")) + nextLine("      ", printable(pod.Next, ""))
			shown++
		}
	}
	return text
}
