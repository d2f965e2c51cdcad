package cli

import (
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
)

// describeConditions writes the conditions. The last lines of a container follow the cause, unless the section of the
// pods shows them.
func describeConditions(w plain, conditions []api.Condition, pods []api.Pod, now time.Time) {
	if len(conditions) == 0 {
		return
	}
	cause := ""
	if degraded := api.FindCondition(conditions, api.ConditionDegraded); degraded != nil &&
		degraded.Status == api.ConditionTrue {
		cause, _, _ = strings.Cut(degraded.Message, "\n")
	}
	w.printf("\nConditions\n")
	for _, c := range conditions {
		w.printf("  %-12s %-8s %s, for %s\n", c.Type, c.Status, c.Reason, age(c.LastTransitionTime, now))
		head, log, _ := strings.Cut(c.Message, "\n")
		if head != "" && (head != cause || c.Type == api.ConditionDegraded) { // print a cause once
			w.indent("      ", head)
		}
		if log = strings.TrimRight(log, "\n"); log != "" && c.Type == api.ConditionDegraded && !showsLog(pods, c) {
			said, _ := lastTry(strings.Split(log, "\n"))
			w.indent("      | ", strings.Join(said, "\n"))
		}
		if c.Next != "" {
			w.printf("      "+nextLabel+"%s\n", c.Next)
		}
	}
}

// showsLog reports whether describeTroubles shows the last lines of a container that failed for the condition's cause.
func showsLog(pods []api.Pod, c api.Condition) bool {
	return slices.ContainsFunc(pods, func(pod api.Pod) bool {
		return !pod.Ready && len(pod.LastLog) > 0 && pod.Message != "" && strings.Contains(c.Message, pod.Message)
	})
}
