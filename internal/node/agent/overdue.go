package agent

import (
	"fmt"
	"sync"
	"time"

	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/platform/recovery"
)

// overdueTime is the time after which the status of a task says that the engine is slow to create or start its
// container. Both take a moment, unless the machine's disk finishes no write.
const overdueTime = 30 * time.Second

// sayOverdue reports a task with the note that its action takes long, unless done is called before. done prevents a
// later report, and returns whether the note was reported.
func (a *Agent) sayOverdue(assigned node.Assignment, decision healing.Decision) (done func() bool) {
	if verb := decision.Action.Verb; verb != healing.Create && verb != healing.Start && verb != healing.Rejoin {
		return func() bool { return false }
	}
	status := decision.Status
	status.Message = fmt.Sprintf("the container engine of node %s has not finished since %s: %s",
		a.opts.Node, a.now().Format(time.RFC3339), decision.Action)
	status.Next = "check the disk and the container engine there; Tend waits for them"
	var mu sync.Mutex
	over, said := false, false
	timer := recovery.AfterFunc(overdueTime, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			a.log.Warn("the container engine takes long", "task", assigned.Task.ID, "pod", assigned.Task.ContainerName(),
				"action", decision.Action.String())
			a.reports.reportTask(assigned, status)
			said = true
		}
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
		return said
	}
}
