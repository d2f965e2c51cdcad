package controltest

import (
	"time"

	"tend.dev/tend/api"
)

// advance returns the next status of a task, which is the same one if nothing changes and nil if the task is gone, and
// when it changes without a write.
func (n *Node) advance(task api.Task, was *api.TaskStatus, now time.Time) (*api.TaskStatus, time.Time) {
	c := n.containers[task.ID]
	if task.Desired != api.DesiredRunning && c != nil && c.stopAsked.IsZero() {
		c.stopAsked = now
	}
	over := was != nil && was.State.Terminal()
	switch {
	case task.Desired == api.DesiredRemoved && (c == nil || over || !now.Before(c.stopAsked.Add(n.Grace))):
		delete(n.containers, task.ID)
		return nil, time.Time{}
	case over:
		return was, time.Time{}
	case c != nil && task.Desired != api.DesiredRunning && c.startedAt.Add(n.Lasts).Before(task.EndedAt):
		return ended(task, was, api.TaskShutdown, n.Code, c.startedAt.Add(n.Lasts)),
			time.Time{} // by itself, before it was asked to
	case c != nil && task.Desired != api.DesiredRunning && now.Before(c.stopAsked.Add(n.Grace)):
		return was, c.stopAsked.Add(n.Grace)
	case task.Desired != api.DesiredRunning:
		return ended(task, was, api.TaskShutdown, 143, now), time.Time{}
	case c == nil:
		return n.start(task, now), now.Add(n.Lasts)
	case now.Before(c.startedAt.Add(n.Lasts)):
		return was, c.startedAt.Add(n.Lasts)
	case n.Code == 0:
		return ended(task, was, api.TaskComplete, 0, now), time.Time{}
	}
	return ended(task, was, api.TaskFailed, n.Code, now), time.Time{}
}

func (n *Node) start(task api.Task, now time.Time) *api.TaskStatus {
	c := &container{owner: task.Owner(), startedAt: now, rejected: n.Rejects > 0}
	n.containers[task.ID] = c
	n.made[c.owner]++
	if c.rejected {
		n.Rejects--
		return &api.TaskStatus{ID: task.ID, Node: "n1", State: api.TaskRejected, Reason: "PortTaken",
			Message: "port 80 is taken", Next: "free it", FinishedAt: now}
	}
	return &api.TaskStatus{
		ID: task.ID, Node: "n1", State: api.TaskRunning, Container: "c-" + task.ID, StartedAt: now, RunningAt: now,
		Ready: true,
		Ports: []api.PortBinding{{Container: 80, Protocol: "tcp", HostIP: "127.0.0.1", HostPort: 32768}},
	}
}

func ended(task api.Task, was *api.TaskStatus, state api.TaskState, code int, at time.Time) *api.TaskStatus {
	next := api.TaskStatus{ID: task.ID, Node: "n1"}
	if was != nil {
		next = *was
	}
	next.State, next.Ready, next.ExitCode, next.FinishedAt = state, false, &code, at
	if state == api.TaskFailed {
		next.Reason, next.Message, next.LastLog = api.ReasonExited, "the container ended with exit code 7",
			[]string{"no route to host"}
	}
	return &next
}
