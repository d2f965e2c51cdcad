package workload

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// command is the outcome of a release's command in the harness.
type command string

const (
	succeeds command = ""
	breaks   command = "fails"
	hangs    command = "hangs"
)

// runCommand lets the agent work on the task of a release's command.
func (l *harness) runCommand(txn *records.Txn, task api.Task) {
	key, was := records.TaskStatusKey(task.ID), l.snapshot().TaskStatus(task.ID)
	next := api.TaskStatus{ID: task.ID, Node: "n1", State: api.TaskPending}
	if was.Exists() {
		next = *was.Value
	}
	exit := 0
	switch {
	case task.Desired == api.DesiredRemoved:
		if was.Exists() {
			txn.Delete(key)
		}
		return
	case next.State.Terminal() || task.Desired == api.DesiredRunning && next.State == api.TaskRunning &&
		l.does[task.Slot] == hangs:
		return
	case task.Desired == api.DesiredShutdown:
		exit = 137
		next.State, next.Reason, next.Ready, next.FinishedAt, next.ExitCode = api.TaskShutdown, "Shutdown", false,
			l.now, &exit
	case next.State == api.TaskPending:
		l.ran = append(l.ran, task.Slot)
		next.State, next.Ready, next.StartedAt, next.RunningAt = api.TaskRunning, true, l.now, l.now
	case l.does[task.Slot] == breaks:
		exit = 3
		next.State, next.Reason, next.Message = api.TaskFailed, "Exited", "the container ended with exit code 3"
		next.ExitCode, next.FinishedAt, next.LastLog = &exit, l.now, []string{"migrating", "table users is locked"}
	default:
		next.State, next.Ready, next.Reason, next.ExitCode, next.FinishedAt = api.TaskComplete, false, "Exited", &exit,
			l.now
	}
	txn.Put(key, next)
}

// released is a spec with release commands.
func released(n int, image string) api.DeploymentSpec {
	spec := replicas(n, image)
	spec.Release = &api.ReleaseHooks{PreCommand: []string{"check"}, Command: []string{"migrate"}}
	return spec
}

// running returns the releases that run, one for each live slot.
func (l *harness) running() string {
	l.Helper()
	var out []string
	for _, task := range l.live() {
		if task.Role == api.RoleMain {
			out = append(out, task.Release)
		}
	}
	return strings.Join(out, " ")
}

// ranOnce fails the test unless the commands ran in this order, each once.
func (l *harness) ranOnce(want string) {
	l.Helper()
	if got := strings.Join(l.ran, " "); got != want {
		l.Errorf("the commands that ran are %q, want %q", got, want)
	}
}

// untilHeld settles without advancing the clock past the next reconcile: a gate may wait for long.
func (l *harness) untilHeld() {
	l.Helper()
	for range 200 {
		result := l.looks()
		placed := l.place()
		if acted := l.runAgent(); result.Revision == 0 && placed.Revision == 0 && !acted {
			return
		}
		l.pass(1)
	}
	l.Fatal("it does not come to rest")
}

func (l *harness) is(conditionType string, status api.ConditionStatus, reason, message string) {
	l.Helper()
	c := l.condition(conditionType)
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		l.Errorf("%s is %s %s %q, want %s %s and %q in the message", conditionType, c.Status, c.Reason, c.Message,
			status, reason, message)
	}
}
