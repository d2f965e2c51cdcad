package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/platform/delay"
)

// waiting are the flags of commands that wait for the effect of their change.
type waiting struct {
	none    bool
	timeout time.Duration
}

func (w *waiting) flags(command *cobra.Command) {
	command.Flags().BoolVar(&w.none, "no-wait", false, "return once the change is stored")
	command.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "how long to wait")
}

func (w *waiting) check() error {
	if w.timeout <= 0 {
		return fmt.Errorf("--timeout %s: want more than nothing, as in 5m; --no-wait does not wait at all", w.timeout)
	}
	return nil
}

// pause waits, or ends with the context.
func pause(ctx context.Context, d time.Duration) error {
	if delay.For(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}
