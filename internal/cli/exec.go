package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) execCommand() *cobra.Command {
	var (
		request    api.ExecRequest
		tty, stdin bool
	)
	command := &cobra.Command{
		Use:   "exec [FLAGS] POD | [KIND] SCOPE/NAME [--] COMMAND [ARG...]",
		Short: "run a command in a pod, or in one of an object; exits with the command's code",
		Long: "Run a command in a pod; of an object, in its newest ready one; of a statefulset, in its lowest ordinal that runs.\n" +
			"Where several run, stderr says which one it is. Flags go before the pod.\n\n" +
			"Exit status: the command's own; 126 or 127 where it could not be run, 1 where the pod could not be reached.",
		Example: "  tend exec prod/web -- ls /\n  tend exec prod-web.1a2b3c4d sh\n  tend exec -e LEVEL=debug -u 1000 prod/web -- printenv\n" +
			"  tend exec prod/db -- psql < dump.sql",
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     a.completePods,
	}
	command.RunE = a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
		var err error
		if request.Command, err = commandOf(wanted, rest); err != nil {
			return err
		}
		pod, err := a.podToEnter(ctx, c, wanted)
		if err != nil {
			return err
		}
		flags := command.Flags()
		request.TTY = tty || !flags.Changed("tty") && terminal(a.out) && terminal(a.in)
		request.Stdin = stdin
		code, err := a.exec(ctx, c, pod, request)
		if err == nil && code != 0 {
			err = &exitStatus{code: code}
		}
		return err
	})
	flags := command.Flags()
	flags.SetInterspersed(false)
	flags.BoolVarP(&tty, "tty", "t", false, "give the command a terminal (default: where this is one)")
	flags.BoolVarP(&stdin, "stdin", "i", true, "pass stdin on; --stdin=false where a script's own stdin must not be eaten")
	flags.StringVarP(&request.User, "user", "u", "", "`USER`, uid or uid:gid")
	flags.StringVarP(&request.WorkingDir, "workdir", "w", "", "working directory, a `PATH`")
	flags.StringArrayVarP(&request.Env, "env", "e", nil, "`KEY=VALUE` (repeatable)")
	return command
}

// commandOf returns what to run: everything behind the address, with or without a -- between.
func commandOf(wanted address, rest []string) ([]string, error) {
	switch {
	case len(rest) > 0 && rest[0] == "--":
		rest = rest[1:]
	case len(rest) > 0 && strings.HasPrefix(rest[0], "-"):
		flags := rest[:max(1, slices.Index(rest, "--"))]
		return nil, fmt.Errorf("flags go before the pod: tend exec %s %s -- COMMAND", strings.Join(flags, " "), wanted)
	}
	if len(rest) == 0 {
		return nil, fmt.Errorf("say what to run: tend exec %s -- COMMAND", wanted)
	}
	return rest, nil
}

// exec connects this terminal with the command's.
func (a *app) exec(ctx context.Context, c *client.Client, pod string, request api.ExecRequest) (int, error) {
	streams := client.ExecIO{Stdout: a.out, Stderr: verbatim(a.err)}
	if request.Stdin {
		streams.Stdin = a.in
	}
	if file, ok := a.in.(*os.File); ok && request.TTY && terminal(a.in) {
		state, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			return 0, fmt.Errorf("make the terminal raw: %w", err)
		}
		defer func() { _ = term.Restore(int(file.Fd()), state) }()
		sizes, stop := windowSizes(file)
		defer stop()
		streams.Resize = sizes
		if width, height, err := term.GetSize(int(file.Fd())); err == nil {
			request.Width, request.Height = width, height
		}
	}
	return c.Exec(ctx, pod, request, streams)
}
