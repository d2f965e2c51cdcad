package takeover

import (
	"strings"

	"tend.dev/tend/api/pattern"
)

// neverRestart is the restart policy of a container that Tend's pods replace.
const neverRestart = "no"

// marked matches the name of a container that is taken over: its own name, whether it was stopped before, the restart
// policy it had, and the scope of the objects that replace it. Names without a scope are read too.
var marked = pattern.Lazy(`^(.+)\.adopted-(stopped-)?(no|always|unless-stopped|on-failure)(?:-([0-9]+))?(?:\.([a-z0-9-]+))?$`)

// mark is the content of the name of a container that is taken over.
type mark struct {
	original, restart, scope string
	// stopped is set for one that didn't run before: undo doesn't start it.
	stopped bool
}

// markedName returns the name of a container that is taken over.
func markedName(c Container, scope string) string {
	name := c.Name + ".adopted-"
	if !c.Running {
		name += "stopped-"
	}
	return name + strings.ReplaceAll(c.Restart, ":", "-") + "." + scope
}

// readMark reads the name of a container.
func readMark(name string) (mark, bool) {
	parts := marked().FindStringSubmatch(name)
	if parts == nil {
		return mark{original: name}, false
	}
	m := mark{original: parts[1], stopped: parts[2] != "", restart: parts[3], scope: parts[5]}
	if parts[4] != "" {
		m.restart += ":" + parts[4]
	}
	return m, true
}
