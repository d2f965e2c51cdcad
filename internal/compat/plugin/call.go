package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"tend.dev/tend/internal/platform/subprocess"
)

// Call is one command of a plugin with its input.
type Call struct {
	Command string
	Args    []string
	// Env are further variables; those that Tend sets override them.
	Env map[string]string
	// Stdin returns the input, given the server's callback URL. Default: none.
	Stdin func(controller string) ([]byte, error)
	// Endpoint opens the callback listener for the time the call runs. Default: the plugin can't call back.
	Endpoint Endpoint
	// DryRun lets the plugin know that its answer will have no effect.
	DryRun bool
}

// Endpoint opens a URL on which a program can call the server back until it is shut. The context identifies the call it
// belongs to (Origin).
type Endpoint func(ctx context.Context) (url string, shut func(), err error)

// do waits for the command's turn, runs it, and parses its answer.
func (p *Plugin) do(ctx context.Context, call Call) (Envelope, error) {
	if err := p.offers(call.Command); err != nil {
		return Envelope{}, err
	}
	limit := p.root.opts.Timeout
	now, err := p.root.turns.take(ctx, p.Folder(), call.Command, call.DryRun, limit)
	if err != nil {
		return Envelope{}, err
	}
	defer p.root.turns.end(now)
	if p, err = p.asItIs(); err == nil { // it may have been replaced meanwhile
		err = p.offers(call.Command)
	}
	if err != nil {
		return Envelope{}, err
	}
	url, shut := "", func() {}
	if call.Endpoint != nil {
		if url, shut, err = call.Endpoint(From(ctx, Origin{Caller: now.caller, Within: now.id})); err != nil {
			return Envelope{}, err
		}
	}
	defer shut()
	return p.run(ctx, call, url, now)
}

// run runs a command's program.
func (p *Plugin) run(ctx context.Context, call Call, url string, now *turn) (Envelope, error) {
	var stdin []byte
	if call.Stdin != nil {
		var err error
		if stdin, err = call.Stdin(url); err != nil {
			return Envelope{}, err
		}
	}
	opts := p.root.opts
	out, err := subprocess.Process{
		Argv: append(append([]string{}, p.commands[call.Command]...), call.Args...), Dir: p.Dir, Stdin: stdin,
		Env: p.environ(call.Env, call.environ(url, now)), Mark: now.mark(), Limit: opts.Timeout, Stdout: opts.MaxStdout,
		Stderr: opts.MaxStderr,
	}.Run(ctx)
	if err != nil {
		return Envelope{}, p.ended(call.Command, out, err)
	}
	return p.answer(call.Command, out)
}

// callID is the variable that identifies the call to a program and everything it starts.
const callID = "TEND_PLUGIN_CALL"

// mark returns the variable that is in the environment of everything a turn starts.
func (t *turn) mark() string { return callID + "=" + t.id }

// environ returns the variables that only this call has.
func (c Call) environ(url string, now *turn) map[string]string {
	env := map[string]string{callID: now.id}
	if url != "" {
		env["TEND_CONTROLLER_URL"], env["VOODU_CONTROLLER_URL"] = url, url
	}
	if now.dry {
		env["TEND_DRY_RUN"] = "1"
	}
	return env
}

// offers returns an error if a command can't be run.
func (p *Plugin) offers(command string) error {
	switch {
	case p.Err != nil:
		return p.Err
	case !p.Has(command):
		return p.lacks(command)
	}
	return nil
}

// asItIs returns the plugin as its folder is now.
func (p *Plugin) asItIs() (*Plugin, error) {
	p.root.swapping.RLock()
	defer p.root.swapping.RUnlock()
	if _, err := os.Stat(p.Dir); err != nil {
		return nil, &Error{Reason: NotFound, Plugin: p.Folder(), Detail: "removed while it was called",
			Next: "install it with `tend plugins install SOURCE`", Err: err}
	}
	return p.root.load(p.Dir), nil
}

// lacks returns the error for a command that the plugin doesn't have.
func (p *Plugin) lacks(command string) *Error {
	var known []string
	for _, c := range p.Offered() {
		known = append(known, c.Name)
	}
	next := "see its documentation: it offers no commands"
	if len(known) > 0 {
		next = "the commands are: " + strings.Join(known, ", ")
	}
	return &Error{Reason: NoCommand, Plugin: p.Folder(),
		Detail: fmt.Sprintf("there is no command %.100q", command), Next: next}
}

// ended returns the error of a program that was ended early.
func (p *Plugin) ended(command string, out subprocess.Output, err error) error {
	fault := &Error{Plugin: p.Folder(), Command: command, Err: err}
	opts := p.root.opts
	switch {
	case errors.Is(err, subprocess.ErrLate):
		fault.Reason, fault.Detail = Timeout,
			fmt.Sprintf("the command did not end within %s and was killed", opts.Timeout)+lastWords(out)
		fault.Next = "find out what the plugin waits for, or raise the server's --plugin-timeout; Tend changed nothing"
	case errors.Is(err, subprocess.ErrFlood):
		fault.Reason = Flood
		fault.Detail = fmt.Sprintf("the command wrote more than %s to stdout or %s to stderr and was killed", size(opts.MaxStdout),
			size(opts.MaxStderr))
		fault.Next = "report it to the plugin's author: a plugin answers with a short JSON envelope"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("plugin %s: %s: %w", p.Folder(), command, err)
	default:
		fault.Reason, fault.Detail = Broken, "the command can't be started: "+err.Error()
		fault.Next = "report it to the plugin's author: the file must be a program for this machine, or begin with #! and an interpreter"
	}
	return fault
}

// lastWords returns the last output of a program, for the message about its end.
func lastWords(out subprocess.Output) string {
	said := strings.TrimSpace(cmp.Or(string(bytes.TrimSpace(out.Stderr)), string(out.Stdout)))
	if said == "" {
		return ", having printed nothing"
	}
	return "; its last line: " + clipped(said[strings.LastIndex(said, "\n")+1:])
}

func size(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
