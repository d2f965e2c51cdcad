package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Call is one command of a plugin with what it is given.
type Call struct {
	Command string
	Args    []string
	Stdin   []byte
	// Controller is where the server can be called back while the call runs. Default: nowhere.
	Controller string
	// DryRun tells the plugin that nothing will come of its answer.
	DryRun bool
}

// do runs a command and reads its answer.
func (p *Plugin) do(ctx context.Context, call Call) (Envelope, error) {
	if p.Err != nil {
		return Envelope{}, p.Err
	}
	start, has := p.commands[call.Command]
	if !has {
		return Envelope{}, p.lacks(call.Command)
	}
	select {
	case p.root.calls <- struct{}{}:
		defer func() { <-p.root.calls }()
	case <-ctx.Done():
		return Envelope{}, p.ended(call.Command, context.Cause(ctx))
	}
	opts := p.root.opts
	out, err := process{
		argv: append(append([]string{}, start...), call.Args...), dir: p.Dir, env: p.environ(call.environ()), stdin: call.Stdin,
		limit: opts.Timeout, stdout: opts.MaxStdout, stderr: opts.MaxStderr,
	}.run(ctx)
	if err != nil {
		return Envelope{}, p.ended(call.Command, err)
	}
	return p.answer(call.Command, out)
}

// environ is what this call says beside all others.
func (c Call) environ() map[string]string {
	env := map[string]string{}
	if c.Controller != "" {
		env["TEND_CONTROLLER_URL"], env["VOODU_CONTROLLER_URL"] = c.Controller, c.Controller
	}
	if c.DryRun {
		env["TEND_DRY_RUN"] = "1"
	}
	return env
}

func (p *Plugin) lacks(command string) *Error {
	var known []string
	for _, c := range p.Offered() {
		known = append(known, c.Name)
	}
	next := "it has none: see its documentation"
	if len(known) > 0 {
		next = "it has: " + strings.Join(known, ", ")
	}
	return &Error{Reason: NoCommand, Plugin: p.Folder(), Detail: fmt.Sprintf("it has no command %.100q", command), Next: next}
}

// ended is the error of a program that did not come to an end of its own.
func (p *Plugin) ended(command string, err error) error {
	fault := &Error{Plugin: p.Folder(), Command: command, Err: err}
	opts := p.root.opts
	switch {
	case errors.Is(err, errLate):
		fault.Reason, fault.Detail = Timeout, fmt.Sprintf("it did not end within %s and was killed", opts.Timeout)
		fault.Next = "look for what it waits for; nothing was done by it through Tend"
	case errors.Is(err, errFlood):
		fault.Reason = Flood
		fault.Detail = fmt.Sprintf("it wrote more than %s to stdout or %s to stderr and was killed", size(opts.MaxStdout), size(opts.MaxStderr))
		fault.Next = "its answer is to be a short JSON envelope; report it to the plugin's author"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("plugin %s: %s: %w", p.Folder(), command, err)
	default:
		fault.Reason, fault.Detail = Broken, "it can't be started: "+err.Error()
		fault.Next = "see that the file is a program for this machine, or begins with #! and an interpreter that is here"
	}
	return fault
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
