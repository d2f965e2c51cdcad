package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) statsCommand() *cobra.Command {
	var watch bool
	var interval time.Duration
	command := &cobra.Command{
		Use:               "stats [POD | [KIND] SCOPE/NAME | SCOPE]",
		Short:             "show what pods use: CPU (100 % is one core), memory, processes",
		Example:           "  tend stats\n  tend stats prod/web\n  tend stats prod\n  tend stats prod/web --watch\n  tend stats prod/web -o json",
		Aliases:           []string{"top"},
		Args:              takes(0, 2),
		ValidArgsFunction: a.completePods,
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if interval < leastInterval {
				return fmt.Errorf("--interval %s is too short: within %s Tend answers the same again", interval, leastInterval)
			}
			for {
				if err := a.printStats(ctx, c, args); err != nil || !watch {
					return err
				}
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(interval):
				}
				fmt.Fprintln(a.out)
			}
		}),
	}
	command.Flags().BoolVarP(&watch, "watch", "w", false, "refresh until interrupted")
	command.Flags().DurationVar(&interval, "interval", 2*time.Second, "time between two lists with --watch")
	return command
}

// leastInterval is the time for which the server repeats the same answer.
const leastInterval = time.Second

// printStats prints one sample of the pods that args name.
func (a *app) printStats(ctx context.Context, c *client.Client, args []string) error {
	keep := func(api.PodStats) bool { return true }
	if len(args) > 0 {
		wanted, rest, err := parseAddress(args)
		if err != nil {
			return err
		}
		if err := tooMuch("stats", rest); err != nil {
			return err
		}
		pods, err := podsOrScope(ctx, c, wanted)
		if err != nil {
			return err
		}
		keep = func(s api.PodStats) bool {
			return slices.ContainsFunc(pods, func(pod api.Pod) bool { return pod.Name == s.Pod })
		}
	}
	stats, err := c.Stats(ctx, client.PodFilter{})
	if err != nil {
		return err
	}
	stats.Items = slices.DeleteFunc(stats.Items, func(s api.PodStats) bool { return !keep(s) })
	return statsListing(stats).write(a.streams, a.output)
}

// podsOrScope returns the pods of an object, or of all in a scope where a word names no object.
func podsOrScope(ctx context.Context, c *client.Client, wanted address) ([]api.Pod, error) {
	pods, err := podsOf(ctx, c, wanted)
	var missing *missingError
	if !errors.As(err, &missing) || wanted.kind != "" || wanted.scope != "" {
		return pods, err
	}
	list, listed := c.Pods(ctx, client.PodFilter{Scope: wanted.name})
	if listed != nil || len(list.Items) == 0 {
		return nil, err
	}
	return list.Items, nil
}

func statsListing(stats api.ListResult[api.PodStats]) listing {
	l := listing{
		value: stats, empty: "no running pods",
		header:     []string{"POD", "CPU%", "MEMORY", "LIMIT", "PROCESSES"},
		wideHeader: []string{"RECEIVED", "SENT", "READ", "WRITTEN", "NODE"},
		narrow:     narrowing{drop: []string{"LIMIT"}},
	}
	for _, s := range stats.Items {
		l.names = append(l.names, s.Pod)
		if s.Error != "" {
			l.rows = append(l.rows, []string{s.Pod, "-", "-", "-", s.Error})
			l.wideRows = append(l.wideRows, []string{"-", "-", "-", "-", dash(s.Node)})
			continue
		}
		l.rows = append(l.rows, []string{s.Pod, fmt.Sprintf("%.1f", s.CPUPercent), bytesText(s.MemoryBytes),
			bytesText(s.MemoryLimitBytes), fmt.Sprint(s.PIDs)})
		l.wideRows = append(l.wideRows, []string{
			bytesText(s.NetRxBytes), bytesText(s.NetTxBytes), bytesText(s.BlockReadBytes),
			bytesText(s.BlockWriteBytes), dash(s.Node),
		})
	}
	return l
}

func bytesText(n int64) string {
	switch {
	case n <= 0:
		return "-"
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%.0fKi", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1fMi", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1fGi", float64(n)/(1<<30))
}
