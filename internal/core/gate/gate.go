package gate

import (
	"cmp"
	"fmt"
	"strings"

	"tend.dev/tend/api"
)

// State is the state of a gate.
type State string

// The states of a gate.
const (
	Open    State = "open"
	Waiting State = "waiting" // for what the release depends on, or for another release's command
	Start   State = "start"   // Decision.Start is the command to begin now
	Running State = "running" // Decision.Run is under way
	Failed  State = "failed"  // Decision.Run failed; nothing follows
)

// Command is one command of a release with its run, nil if it was not requested yet.
type Command struct {
	Role api.TaskRole
	Run  *api.Run
}

// Input is everything the decision about a release depends on.
type Input struct {
	Release string
	// Waiting lists the dependencies of the release that are not ready.
	Waiting []string
	// Next is the step that helps where one of them waits for a person; empty if none does.
	Next string
	// Commands are run in this order.
	Commands []Command
	// Busy is a run of another release of the workload that has not ended; nil if there is none.
	Busy *api.Run
	// Lenient skips a failed command: commands that run after the rollout block nothing.
	Lenient bool
}

// Decision names what blocks a release from its slots.
type Decision struct {
	State State
	// Start is the command to start; set with state Start.
	Start api.TaskRole
	// Run is the run that the decision is about: the one that runs, or failed.
	Run     *api.Run
	Reason  string
	Message string
	// Next is the step that helps; empty if it goes on by itself, or the caller knows it.
	Next string
}

// Decide decides the state of a release's gate.
func Decide(in Input) Decision {
	for i, command := range in.Commands {
		switch {
		case command.Run == nil:
			return in.begin(i, command.Role)
		case !command.Run.State.Ended():
			return Decision{State: Running, Run: command.Run, Reason: api.ReasonRunningReleaseCommand, Message: running(command)}
		case command.Run.State != api.RunSucceeded && !in.Lenient:
			return Decision{State: Failed, Run: command.Run, Reason: api.ReasonReleaseCommandFailed,
				Message: failed(in.Release, command)}
		}
	}
	if len(in.Commands) == 0 && len(in.Waiting) > 0 {
		return in.wait()
	}
	return Decision{State: Open}
}

// begin decides whether the next command may start. The dependencies count only before the first one.
func (in Input) begin(i int, role api.TaskRole) Decision {
	switch {
	case i == 0 && len(in.Waiting) > 0:
		return in.wait()
	case in.Busy != nil:
		return Decision{State: Waiting, Run: in.Busy, Reason: api.ReasonWaitingForCommand,
			Message: fmt.Sprintf("%s waits for run %s, which began earlier, to end", in.Release, in.Busy.ID)}
	}
	return Decision{State: Start, Start: role, Reason: api.ReasonRunningReleaseCommand,
		Message: fmt.Sprintf("%s of %s begins", Field(role), in.Release)}
}

func (in Input) wait() Decision {
	return Decision{State: Waiting, Reason: api.ReasonWaitingForDependency,
		Message: in.Release + " waits for " + strings.Join(in.Waiting, ", "), Next: in.Next}
}

// Field returns the field that declares a role's command.
func Field(role api.TaskRole) string {
	switch role {
	case api.RolePre:
		return "release.pre_command"
	case api.RoleCommand:
		return "release.command"
	case api.RolePost:
		return "release.post_command"
	case api.RoleDeploy:
		return "post_deploy"
	}
	return string(role)
}

func running(command Command) string {
	return fmt.Sprintf("%s runs in %s", Field(command.Role), pod(command.Run))
}

func failed(release string, command Command) string {
	return fmt.Sprintf("%s of %s failed, no pod was touched: %s", Field(command.Role), release,
		cmp.Or(command.Run.Message, command.Run.Reason))
}

// pod returns the container name of a run's last attempt.
func pod(run *api.Run) string {
	if len(run.Attempts) == 0 {
		return run.ID
	}
	return run.Attempts[len(run.Attempts)-1].Pod
}
