package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/core/suggest"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store/records"
)

// source is a container whose output was requested.
type source struct {
	// id is the container's id for its node, pod the name its lines carry.
	id, pod, node string
	// mark differs for each incarnation; empty until there may be one.
	mark string
	// began is the start time of the incarnation, if it is known.
	began time.Time
	// runs: it was running at the last report.
	runs bool
}

// sources returns the selected containers of a task: the requested init container, else the task's own. Until that has
// run, its output is that of its init containers.
func (l logsOf) sources(snap records.Snapshot, task *api.Task) []source {
	read := snap.TaskStatus(task.ID)
	status := api.TaskStatus{}
	if read.Exists() {
		status = *read.Value
	}
	if l.init != "" {
		return []source{initSource(task, l.init, read.Modified)}
	}
	own := source{id: task.ID, node: task.Node, pod: task.ContainerName(), began: status.StartedAt,
		runs: status.State == api.TaskRunning}
	if !status.StartedAt.IsZero() {
		own.mark = status.StartedAt.Format(time.RFC3339Nano)
	}
	if !status.StartedAt.IsZero() || status.Inits == nil || task.Role != api.RoleMain {
		return []source{own}
	}
	var out []source
	for _, name := range initsOf(snap, task) {
		out = append(out, initSource(task, name, read.Modified))
	}
	return append(out, own)
}

// mayCome reports whether a task may produce more output.
func (l logsOf) mayCome(snap records.Snapshot, task *api.Task) bool {
	status := snap.TaskStatus(task.ID)
	switch {
	case !status.Exists():
		return task.Desired == api.DesiredRunning
	case status.Value.State.Terminal() || l.init != "" && !status.Value.StartedAt.IsZero():
		return false
	}
	return task.Desired == api.DesiredRunning
}

// initSource returns the source of an init container. It has no status of its own, so each report on its task may mean
// a new attempt.
func initSource(task *api.Task, name string, revision int64) source {
	id := task.InitName(name)
	return source{id: id, node: task.Node, pod: id, mark: strconv.FormatInt(revision, 10)}
}

// initsOf returns the names of a task's init containers.
func initsOf(snap records.Snapshot, task *api.Task) []string {
	release := snap.ReleaseOf(*task)
	if !release.Exists() {
		return nil
	}
	spec, err := api.DecodeWorkload(task.Kind, release.Value.Spec)
	if err != nil {
		return nil
	}
	var names []string
	for _, init := range spec.Inits {
		names = append(names, init.Name)
	}
	return names
}

// checkInit refuses the name of an init container that no pod has.
func (l logsOf) checkInit(snap records.Snapshot) error {
	if l.init == "" {
		return nil
	}
	var names []string
	for _, task := range snap.TasksOf(l.owner) {
		if l.wants(task.Value) {
			names = append(names, initsOf(snap, task.Value)...)
		}
	}
	if slices.Contains(names, l.init) {
		return nil
	}
	slices.Sort(names)
	next := "its manifest declares no init"
	if names = slices.Compact(names); len(names) > 0 {
		next = "there is " + strings.Join(names, ", ")
	}
	detail := fmt.Sprintf("no pod of %s has an init called %s", l.owner, clip(l.init))
	if question := suggest.Question(l.init, names); question != "" {
		detail += "; " + question
	}
	return &api.Problem{Status: http.StatusNotFound, Detail: detail, Next: next}
}

// nothing returns the error for an empty answer, with the reason.
func (l logsOf) nothing(cause error) error {
	if l.init == "" || cause != nil && !absent(cause) {
		return cause
	}
	return &api.Problem{Status: http.StatusNotFound, Detail: "there is no container of the init " +
		clip(l.init) + " (any more)",
		Next: "inits that passed are removed once their pod runs; -f shows the next ones as they run"}
}

// absent reports whether an error means that the container doesn't exist, yet or any more, and not that it can't be
// read.
func absent(err error) bool {
	return errors.Is(err, container.ErrNotFound) || errors.Is(err, node.ErrNoPod)
}
