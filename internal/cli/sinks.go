package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) sinksCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "sinks", Short: "list where events go, and test it", Args: takes(0, 0),
		Long: "List the sinks with how far each is: BEHIND is the age of the oldest event that waits, FAILED counts attempts, DEAD what was\n" +
			"given up.",
		Example: "  tend sinks\n  tend sinks test on-call\n  tend describe sink on-call",
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			sinks, err := c.Objects(ctx, api.KindSink, client.ObjectFilter{})
			if err != nil {
				return err
			}
			l := objectListing(sinks.Items, time.Now())
			l.value, l.empty = sinks, "no sinks; docs/use/kinds/sink.md says how to declare one"
			if len(l.header) > 0 {
				l.header[0] = "SINK"
			}
			return l.write(a.streams, a.output)
		}),
	}
	command.AddCommand(a.testSinkCommand())
	return command
}

// errNotDelivered ends a test that did not arrive.
var errNotDelivered = errors.New("the test did not arrive")

func (a *app) testSinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test SINK", Short: "send a test to a sink's receiver and print what came back", Args: takes(1, 1),
		Long: "Send a test to the receiver of a sink, whatever its filter chooses, and print what came back. What the sink has to send is\n" +
			"left alone. The exit code is 1 if the test did not arrive.",
		Example: "  tend sinks test on-call",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			test, err := c.TestSink(ctx, args[0])
			if err != nil {
				return err
			}
			if a.structured() {
				err = listing{value: test}.write(a.streams, a.output)
			} else {
				outcome := map[bool]string{true: "delivered", false: "not delivered"}[test.Delivered]
				_, err = fmt.Fprintf(a.out, "%s: %s to %s in %d ms: %s\n", test.Sink, outcome, cmp.Or(test.Receiver, test.Type),
					test.Took, printable(test.Answer, ""))
			}
			if err == nil && !test.Delivered {
				return errNotDelivered
			}
			return err
		}),
	}
}

var sinkTable = table{
	header: []string{"TYPE", "STATE", "BEHIND", "SENT", "FAILED", "DEAD", "LAST ERROR"},
	wide:   []string{"RECEIVER", "GAPS", "LAST SENT", "AGE"},
	narrow: narrowing{drop: []string{"TYPE", "SENT", "FAILED", "DEAD", "BEHIND"}, cut: []string{"LAST ERROR"}},
	row: func(object api.Object, now time.Time) (cells, wide []string) {
		status, _ := api.DecodeStatus[api.SinkStatus](object)
		var p api.SinkProgress
		if status.Progress != nil {
			p = *status.Progress
		}
		state := "Pending"
		if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil {
			state = c.Reason
		}
		return []string{
				dash(status.Type), state, dash(since(p.BehindSince, now)), fmt.Sprint(p.Sent), fmt.Sprint(p.Failed),
				fmt.Sprint(p.Dead), dash(lastError(p, now)),
			}, []string{dash(status.Receiver), fmt.Sprint(p.Gaps), dash(since(p.LastSentAt, now)),
				age(object.Metadata.CreatedAt, now)}
	},
}

// lastError returns what failed last, and how long ago.
func lastError(p api.SinkProgress, now time.Time) string {
	if p.LastError == "" || p.LastErrorAt.IsZero() {
		return printable(p.LastError, "")
	}
	return age(p.LastErrorAt, now) + " ago: " + printable(p.LastError, "")
}

// since is the age of an instant; empty of none.
func since(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return age(at, now)
}

// describeSink writes how far a sink is.
func describeSink(w plain, object api.Object, now time.Time) {
	status, _ := api.DecodeStatus[api.SinkStatus](object)
	w.printf("  %s %s\n", status.Type, status.Receiver)
	p := status.Progress
	if p == nil {
		return
	}
	w.printf("  position %s, %d sent, %d attempts failed, %d given up, %d gaps\n", p.Position, p.Sent,
		p.Failed, p.Dead, p.Gaps)
	if !p.BehindSince.IsZero() {
		w.printf("  behind since %s ago\n", age(p.BehindSince, now))
	}
	if t := p.Trying; t != nil {
		w.printf("  trying %s for the time %d, since %s ago\n", t.ID, t.Attempts+1, age(t.Since, now))
	}
	if p.LastError != "" {
		w.printf("  last error %s\n", lastError(*p, now))
	}
	for _, r := range p.Refusals {
		w.printf("  refused %s: %s lost since %s ago: %s\n", r.Address, countOf(int(r.Lost), "message"),
			age(r.At, now), r.Error)
	}
}
