package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/client/frame"
)

func (a *app) execCommand() *cobra.Command {
	var (
		request    api.ExecRequest
		tty, stdin bool
	)
	command := &cobra.Command{
		Use:   "exec POD | [KIND] SCOPE/NAME -- COMMAND [ARG...]",
		Short: "run a command in a pod (of an object: in its newest ready one); exits with the command's code",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, rest, err := parseAddress(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && rest[0] == "--" {
				rest = rest[1:]
			}
			request.Command = rest
			if len(request.Command) == 0 {
				return fmt.Errorf("say what to run: tend exec %s -- COMMAND", wanted)
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			pod, err := a.newestPod(cmd.Context(), c, wanted)
			if err != nil {
				return err
			}
			screen := terminal(a.out) && isTerminal(a.in)
			request.TTY = tty || screen && !cmd.Flags().Changed("tty")
			request.Stdin = stdin || !cmd.Flags().Changed("stdin")
			code, err := a.exec(cmd.Context(), c, pod, request)
			if err != nil {
				return err
			}
			if code != 0 {
				return &exitStatus{code: code}
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.SetInterspersed(false)
	flags.BoolVarP(&tty, "tty", "t", false, "give the command a terminal (default: where this is one)")
	flags.BoolVarP(&stdin, "stdin", "i", false, "pass stdin on (default true)")
	flags.StringVarP(&request.User, "user", "u", "", "user, uid or uid:gid")
	flags.StringVarP(&request.WorkingDir, "workdir", "w", "", "working directory")
	flags.StringArrayVarP(&request.Env, "env", "e", nil, "KEY=VALUE (repeatable)")
	return command
}

// newestPod is the pod an address names; of an object the newest that is ready, else the newest that runs.
func (a *app) newestPod(ctx context.Context, c *client.Client, wanted address) (string, error) {
	pods, err := a.podsOf(ctx, c, wanted)
	if err != nil {
		return "", err
	}
	if wanted.pod != "" {
		return wanted.pod, nil
	}
	running := slices.DeleteFunc(pods, func(pod api.Pod) bool { return pod.State != api.TaskRunning })
	if len(running) == 0 {
		return "", fmt.Errorf("no pod of %s runs: `tend describe %s` says why", wanted, wanted)
	}
	slices.SortFunc(running, func(x, y api.Pod) int {
		if x.Ready != y.Ready {
			if x.Ready {
				return -1
			}
			return 1
		}
		return y.CreatedAt.Compare(x.CreatedAt)
	})
	return running[0].Name, nil
}

// exec connects this terminal with the command's.
func (a *app) exec(ctx context.Context, c *client.Client, pod string, request api.ExecRequest) (int, error) {
	streams := client.ExecIO{Stdout: a.out, Stderr: a.err}
	if request.Stdin {
		streams.Stdin = a.in
	}
	if file, ok := a.in.(*os.File); ok && request.TTY && isTerminal(a.in) {
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

// windowSizes tells the terminal's size whenever it changes.
func windowSizes(file *os.File) (<-chan frame.Size, func()) {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	sizes, done := make(chan frame.Size, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
				if width, height, err := term.GetSize(int(file.Fd())); err == nil {
					select {
					case sizes <- frame.Size{Width: width, Height: height}:
					case <-done:
						return
					}
				}
			}
		}
	}()
	return sizes, func() { signal.Stop(changed); close(done) }
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
