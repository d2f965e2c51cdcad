package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/server"
)

// verbCommand is a command that calls a declared verb, prints what has become of it, and may wait until the change has
// taken effect.
type verbCommand struct {
	*app
	verb.Command
	verb  verb.Verb
	path  string
	input reflect.Value
	yes   bool
	wait  waiting
}

const exitStatusOfVerbs = "\n\nExit status: 0 converged, 1 error, 2 rolled back or paused, 3 timed out (Tend goes on working at it),\n4 replaced by a newer change."

// verb returns the command of a path that a verb declares.
func (a *app) verb(path string) *cobra.Command {
	for _, v := range server.Verbs() {
		if i := slices.IndexFunc(v.Commands, func(c verb.Command) bool { return c.Path == path }); i >= 0 {
			return a.commandOf(v, v.Commands[i], path)
		}
	}
	panic("no verb has the command " + path)
}

// addKinds adds the commands without a path of their own: tend KIND VERB.
func (a *app) addKinds(root *cobra.Command) {
	for _, v := range server.Verbs() {
		for _, c := range v.Commands {
			if c.Path != "" {
				continue
			}
			kind := string(v.Kind)
			i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == kind })
			if i < 0 {
				root.AddCommand(&cobra.Command{Use: kind, Short: "ask something of a " + kind, GroupID: "act"})
				i = slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == kind })
			}
			root.Commands()[i].AddCommand(a.commandOf(v, c, kind+" "+v.Name))
		}
	}
}

func (a *app) commandOf(v verb.Verb, c verb.Command, path string) *cobra.Command {
	k := &verbCommand{app: a, Command: c, verb: v, path: path, input: reflect.New(v.In)}
	command := &cobra.Command{
		Use: path[strings.LastIndex(path, " ")+1:] + " " + c.Use, Short: c.Short, Long: c.Long, Example: c.Example,
		Args: takes(1+c.Least, 2+c.Rest), ValidArgsFunction: a.completeObjects, RunE: k.addressed(k.find),
	}
	if k.unscoped() {
		command.Args, command.ValidArgsFunction = takes(1+c.Least, 1+c.Rest), a.completeKind(v.Kind)
		command.RunE = k.connected(func(ctx context.Context, c *client.Client, args []string) error {
			return k.call(ctx, c, api.Ref{Kind: v.Kind, Scope: api.Unscoped, Name: args[0]}, args[0], args[1:])
		})
	}
	if v.Kind == api.KindNode { // undeclared ones too
		command.ValidArgsFunction = a.completeNodes
	}
	k.flags(command)
	return command
}

func (k *verbCommand) unscoped() bool {
	return k.verb.Kind != "" && k.verb.Kind.Info().Scope == api.ScopeNone
}

func (k *verbCommand) flags(command *cobra.Command) {
	flags := command.Flags()
	for _, p := range verb.Parameters(k.verb.In) {
		if p.Flag == "" {
			continue
		}
		switch field := k.input.Elem().Field(p.Field).Addr().Interface().(type) {
		case *bool:
			flags.BoolVar(field, p.Flag, false, p.Help)
		case *int:
			flags.IntVar(field, p.Flag, 0, p.Help)
		case *time.Duration:
			flags.DurationVar(field, p.Flag, 0, p.Help)
		case *string:
			flags.StringVar(field, p.Flag, "", p.Help)
		}
	}
	if k.Asks != nil {
		flags.BoolVarP(&k.yes, "yes", "y", false, "don't ask")
	}
	if k.Waits {
		k.wait.flags(command)
		command.Long += exitStatusOfVerbs
	}
}

// find finds the object that is named, and calls the verb.
func (k *verbCommand) find(ctx context.Context, c *client.Client, wanted address, rest []string) error {
	if k.Waits {
		if err := k.wait.check(); err != nil {
			return err
		}
	}
	at := wanted.String()
	if kind := k.verb.Kind; kind != "" {
		stands := wanted.kind == "" || wanted.kind == kind || slices.Contains(storedAs(wanted.kind), kind)
		if wanted.pod != "" || !stands {
			return fmt.Errorf("%s %s", wanted, k.another())
		}
		wanted.kind = kind
	}
	if k.Loose {
		return k.call(ctx, c, api.Ref{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}, at, rest)
	}
	ref, err := resolve(ctx, c, wanted)
	if err == nil {
		err = k.call(ctx, c, ref, ref.Scope+"/"+ref.Name, rest)
	}
	var absent *missingError
	if _, bad := strconv.Atoi(at); bad == nil && k.Rest > 0 && errors.As(err, &absent) {
		absent.next = "the object comes first, as SCOPE/NAME, and a number behind it"
	}
	return err
}

func (k *verbCommand) another() string {
	if k.Another != "" {
		return k.Another
	}
	return "is not a " + string(k.verb.Kind) + ": name one as SCOPE/NAME"
}

// call calls the verb. at names the object as it was typed.
func (k *verbCommand) call(ctx context.Context, c *client.Client, ref api.Ref, at string, rest []string) error {
	input := k.input.Interface()
	if len(rest) > k.Rest {
		return tooMuch(k.path, rest[k.Rest:])
	}
	if k.Read != nil {
		if err := k.Read(at, rest, input); err != nil {
			return err
		}
	}
	if k.Asks != nil {
		if err := k.confirm(k.yes, k.Asks(ref, input)); err != nil {
			return err
		}
	}
	ask := func(ctx context.Context) (json.RawMessage, error) {
		return client.Verb[json.RawMessage](ctx, c, client.TargetOf(ref), k.verb.Name, verb.Encode(input))
	}
	var text json.RawMessage
	var err error
	if k.Repeats {
		text, err = client.Repeat(ctx, unknownPatience, ask)
	} else {
		text, err = ask(ctx)
	}
	if err != nil {
		return err
	}
	answer := reflect.New(k.verb.Out).Interface()
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", k.path, err)
	}
	return k.report(ctx, c, ref, input, answer)
}

// report prints the answer, and waits until it has taken effect.
func (k *verbCommand) report(ctx context.Context, c *client.Client, ref api.Ref, input, answer any) error {
	result, _ := answer.(*api.VerbResult)
	if result == nil {
		result = &api.VerbResult{}
	}
	for _, warning := range result.Warnings {
		fmt.Fprintf(k.err, "warning: %s: %s\n", ref, warning)
	}
	p := paintFor(k.out)
	lines := k.Says(ref, input, answer)
	if k.structured() {
		lines = make([]verb.Line, 1) // the answer has all of them
	}
	for _, line := range lines {
		for _, action := range result.Plan {
			line.Text += "\n" + p.action(action)
		}
		line.Text += nextLine("  ", line.Next)
		if err := k.say(answer, line.Name, wrapped(line.Text, k.width())); err != nil {
			return err
		}
	}
	if !k.Waits || k.wait.none || result.DryRun {
		return nil
	}
	return k.await(ctx, c, []wait{{Awaited: api.Awaited{Ref: ref, Revision: result.Revision,
		Generation: result.Generation, Counts: k.Counts}}}, k.wait.timeout)
}
