package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a command line and returns its exit code.
func Main(ctx context.Context, args []string) int {
	restoreHome()
	ctx, stop := interruptible(ctx)
	defer stop()
	return streams{in: os.Stdin, out: os.Stdout, err: prose{os.Stderr}}.run(ctx, args)
}

// run runs a command line and returns its exit code. An error stands on the stream of messages.
func (s streams) run(ctx context.Context, args []string) int {
	root := newRoot(s)
	root.SetArgs(withPlugins(root, inOurWords(args)))
	command, err := root.ExecuteContextC(ctx)
	err = missingFlags(command, err)
	if forPrograms(root, args, err) {
		return reportJSON(err, verbatim(s.err))
	}
	return report(err, s.err)
}

// interruptedError is the error of a command that a signal ended.
type interruptedError struct{ signal syscall.Signal }

func (*interruptedError) Error() string {
	return "interrupted"
}

// Unwrap makes the error count as a cancelled context.
func (*interruptedError) Unwrap() error { return context.Canceled }

// code returns what a shell gives a command that a signal ended.
func (e *interruptedError) code() int { return 128 + int(e.signal) }

// interruptible ends the context at the first Ctrl-C or SIGTERM. The second one ends the process at once.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case got := <-signals:
			signal.Stop(signals)
			number, _ := got.(syscall.Signal)
			cancel(&interruptedError{signal: number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}
