package control

import (
	"context"
	"reflect"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/calls"
	"tend.dev/tend/internal/observe/tracing"
	"tend.dev/tend/internal/reconciler"
)

// Call is a call to the outside that an object needs now, as data; Kind.Call makes it, off the workers.
//
// A step returns a call for as long as the object needs it. The Shell makes the call once the step is committed, unless
// it is under way already. Its answer is given to the next steps, as Observation.Answers, until one of them is
// committed: that one records what must last of it. If the server ends before that, the next one makes the call again.
type Call struct {
	// Name tells the calls of an object apart. A call of the same name is the same call.
	Name string
	// Host is whom it is made to. One host has at most calls.MaxPerHost calls of a kind at a time. Without a host, or
	// without a limit, a call doesn't count.
	Host string
	// Limit bounds it. 0 is a call that lasts until a step is committed without it: it answers only what it says, and
	// is repeated after a panic. It begins with the first step that observes no other one to end.
	Limit time.Duration
	// Request holds what Kind.Call needs to make it.
	Request any
	// Text says in a dry run what will be done. Default: a dry run leaves it out.
	Text string
	// Say gives the next steps an answer before the call ends, in place of the one before. The Shell sets it.
	Say func(answer any)
}

// Answer returns what the last steps have not recorded yet of a call's answer. ok is false if there is none.
func Answer[A any](o Observation, name string) (answer A, ok bool) {
	answer, ok = o.Answers[name].Value.(A)
	return answer, ok
}

// Recall returns what the step before asked to remember; the zero value if it asked for nothing.
func Recall[M any](o Observation) M {
	memo, _ := o.Memo.(M)
	return memo
}

// outside holds what is known of the calls of a kind's objects, and the memos of their steps.
type outside struct {
	*calls.Calls
	mu    sync.Mutex
	memos map[reconciler.Key]any
}

func newOutside() *outside { return &outside{Calls: calls.New(), memos: map[reconciler.Key]any{}} }

// into adds what is known to an observation.
func (c *outside) into(o *Observation, key reconciler.Key) {
	state := c.Of(key)
	o.Going, o.Answers = state.Going, state.Answers
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Memo = c.memos[key]
}

// changes reports whether the step begins or ends calls, takes answers or remembers something else.
func (s Step) changes(o Observation) bool {
	if len(o.Answers) > 0 || !reflect.DeepEqual(o.Memo, s.Memo) || len(s.dropped(o)) > 0 {
		return true
	}
	for _, call := range s.Calls {
		if _, going := o.Going[call.Name]; !going {
			return true
		}
	}
	return false
}

// dropped returns the calls under way that last, and that the step has no need of.
func (s Step) dropped(o Observation) (out []string) {
	needed := map[string]bool{}
	for _, call := range s.Calls {
		needed[call.Name] = true
	}
	for name, going := range o.Going {
		if going.Lasts && !needed[name] {
			out = append(out, name)
		}
	}
	return out
}

// follow makes the calls of a committed step and ends those that it has no need of.
func (c *Shell) follow(ctx context.Context, key reconciler.Key, o Observation, step Step) {
	for name, answer := range o.Answers {
		c.outside.Forget(key, name, answer)
	}
	c.outside.mu.Lock()
	if c.outside.memos[key] = step.Memo; step.Memo == nil {
		delete(c.outside.memos, key)
	}
	c.outside.mu.Unlock()
	dropped := step.dropped(o)
	for _, name := range dropped {
		c.outside.Cancel(key, name)
	}
	for _, call := range step.Calls {
		_, going := o.Going[call.Name]
		waits := call.Limit == 0 && len(dropped) > 0 // their end reconciles the object
		if !going && !waits {
			c.begin(ctx, key, o, call)
		}
	}
}

func (c *Shell) begin(ctx context.Context, key reconciler.Key, o Observation, call Call) {
	failed := c.Kind.Failed
	if failed == nil {
		failed = func(err error) any { return err }
	}
	object := o.Object // a call may last for weeks, and holds nothing else of what was observed
	begun := c.outside.Begin(calls.Work{
		Key: key, Name: call.Name, Host: call.Host, Limit: call.Limit, Failed: failed,
		Do: func(ctx context.Context, say func(any)) any {
			call.Say = say
			return c.Kind.Call(ctx, object, call)
		},
	})
	if begun && call.Text != "" {
		tracing.Note(ctx, "action", call.Text)
		c.Logger.InfoContext(ctx, "plan", "object", o.Ref.String(), "action", call.Text)
	}
}

// Source implements Source: it makes calls until ctx ends.
func (c *Shell) Source(ctx context.Context, enqueue func(keys ...reconciler.Key)) error {
	return c.outside.Run(ctx, enqueue)
}

// planned returns the calls as actions of a dry run.
func (s Step) planned(o Observation) (out []api.PlannedAction) {
	for _, call := range s.Calls {
		if call.Text != "" {
			out = append(out, o.Planned("call", call.Text))
		}
	}
	return out
}
