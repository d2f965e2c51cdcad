package takeover

import "strings"

// mark stands in the name of a container that was taken over, between its own name and its restart policy.
const mark = ".adopted-"

// neverRestart is the restart policy of a container that Tend's pods replace.
const neverRestart = "no"

// markedName returns the name of a container that is taken over.
func markedName(name, restart string) string {
	return name + mark + strings.ReplaceAll(restart, ":", "-")
}

// parseName returns the name of a container before it was taken over, and the restart policy it had.
func parseName(name string) (original, restart string, marked bool) {
	at := strings.LastIndex(name, mark)
	if at < 0 {
		return name, "", false
	}
	original, restart = name[:at], name[at+len(mark):]
	if tries, counted := strings.CutPrefix(restart, "on-failure-"); counted {
		restart = "on-failure:" + tries
	}
	return original, restart, true
}
