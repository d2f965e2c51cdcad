package engine

import (
	opsv1alpha1 "tend.dev/tend/api/kube/ops/v1alpha1"
)

// State is how far an engine got.
type State int

// The states of an engine.
const (
	// Pending is an object that its controller has not begun with.
	Pending State = iota
	// Running is an object that its controller works on.
	Running
	// Suspended is an object that waits until a person resumes it.
	Suspended
	// Idle is a replication that waits for its next time after at least one success.
	Idle
	// Succeeded is an object that did what it should.
	Succeeded
	// Failed is an object that did not.
	Failed
	// Rejected is an object that its controller refused to begin with.
	Rejected
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"Pending", "Running", "Suspended", "Idle", "Succeeded", "Failed", "Rejected"}[s]
}

// Done returns whether the state is final.
func (s State) Done() bool { return s >= Succeeded }

// Progress is what an object says of its operation.
type Progress struct {
	// State is how far the engine got.
	State State
	// Reason is the reason of the condition that goes with the state: Running, Succeeded or Failed. In the state Idle it
	// is that of Succeeded, and in the state Rejected that of Accepted.
	Reason string
	// Message is the engine's own, or says what is going on.
	Message string
	// Outputs are the operation's results so far.
	Outputs map[string]string
	// Watch says that more can be known than changes of the subject tell: observe it again soon.
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

// with returns the progress with one more output. An empty value is left out.
func (p Progress) with(name, value string) Progress {
	if value == "" {
		return p
	}
	outputs := map[string]string{name: value}
	for k, v := range p.Outputs {
		outputs[k] = v
	}
	p.Outputs = outputs
	return p
}
