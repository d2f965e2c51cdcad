package engine

import (
	"maps"

	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// State is the progress of an engine.
type State int

// The states of an engine.
const (
	// Pending: the controller has not started on the object.
	Pending State = iota
	// Running: the controller works on the object.
	Running
	// Suspended: the object waits until a person resumes it.
	Suspended
	// Idle: a replication has succeeded at least once and waits for its next time.
	Idle
	// Succeeded: the object succeeded.
	Succeeded
	// Failed: the object failed.
	Failed
	// Rejected: the controller refused the object.
	Rejected
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"Pending", "Running", "Suspended", "Idle", "Succeeded", "Failed", "Rejected"}[s]
}

// Done reports whether the state is final.
func (s State) Done() bool { return s >= Succeeded }

// Progress is an operation's progress as shown by its object.
type Progress struct {
	// State says how far the engine has got.
	State State
	// Reason is the reason of the condition for the state: Running, Succeeded or Failed. In the state Idle it is that of
	// Succeeded, in the state Rejected that of Accepted.
	Reason string
	// Message comes from the engine, or describes the progress.
	Message string
	// Outputs are the operation's results so far.
	Outputs map[string]string
	// Failing is the reason of Degraded while the engine repeats what failed, and Message says why it did. Empty if
	// nothing fails.
	Failing string
	// Watch says that changes of the subject don't show everything: observe it again soon.
	Watch bool
}

func pending(message string) Progress {
	return Progress{State: Pending, Reason: opsv1alpha1.RunningPending, Message: message}
}

// watched returns the progress with Watch set.
func (p Progress) watched() Progress {
	p.Watch = true
	return p
}

func running(reason, message string) Progress {
	return Progress{State: Running, Reason: reason, Message: message}
}

func succeeded(reason, message string) Progress {
	return Progress{State: Succeeded, Reason: reason, Message: message}
}

func failed(reason, message string) Progress {
	return Progress{State: Failed, Reason: reason, Message: message}
}

// repeated returns the progress of an engine that repeats what failed with a fault; unchanged if there is none.
func (p Progress) repeated(reason, fault string) Progress {
	if fault != "" {
		p.Failing = reason
	}
	return p
}

// with returns the progress with one more output, unless its value is empty.
func (p Progress) with(name, value string) Progress {
	if value == "" {
		return p
	}
	outputs := map[string]string{name: value}
	maps.Copy(outputs, p.Outputs)
	p.Outputs = outputs
	return p
}
