package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/suggest"
)

// eventFlags choose events.
type eventFlags struct {
	follow bool
	scope  string
	kind   string
	types  []string
	actor  string
	since  string
	last   int
	// lastGiven: the user gave last.
	lastGiven bool
}

func (f *eventFlags) declare(command *cobra.Command) {
	flags := command.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "wait for new events, also over restarts of the server")
	flags.StringVarP(&f.scope, "scope", "s", "", "only this `SCOPE`")
	flags.StringVar(&f.kind, "kind", "", "only this `KIND`")
	flags.StringSliceVar(&f.types, "type", nil,
		"only this `TYPE`: deployment.updated, or updated for all kinds; may be repeated")
	flags.StringVar(&f.actor, "actor", "", "only what this `ACTOR` asked for: ada, or 'token from 10.0.0.7'")
	flags.StringVar(&f.since, "since", "",
		"after this `ID` of an event, or oldest; default: the newest ones, with --follow the next ones")
	flags.IntVar(&f.last, "last", 50, "how `MANY` of the newest events, without --since; with --follow they come first")
}

// check refuses flags that exclude each other.
func (f *eventFlags) check(command *cobra.Command) error {
	f.lastGiven = command.Flags().Changed("last")
	switch {
	case f.lastGiven && f.since != "":
		return errors.New("--last and --since exclude each other: --last is the newest events, --since all after one")
	case f.last < 1:
		return fmt.Errorf("--last %d: want 1 or more", f.last)
	}
	return nil
}

// keptEvents returns whose events are meant by an address of an object that is gone: of one in that scope if there are
// any, else of one of the kind that is called like the scope.
func keptEvents(ctx context.Context, c *client.Client, wanted address, kind api.Kind) api.Ref {
	switch {
	case wasThere(ctx, c, wanted):
		return api.Ref{Scope: wanted.scope, Name: wanted.name}
	case kind.Info().Scope != api.ScopeRequired:
		return api.Ref{Kind: kind, Scope: api.Unscoped, Name: wanted.name}
	}
	return api.Ref{Kind: kind, Name: wanted.name}
}

// options returns what the flags choose, of an object if args name one.
func (f *eventFlags) options(ctx context.Context, c *client.Client, args []string) (client.EventOptions, error) {
	opts := client.EventOptions{Scope: f.scope, Types: f.types, Actor: f.actor, Since: f.since}
	if f.kind != "" {
		kind, err := parseKind(f.kind)
		if err != nil {
			return opts, fmt.Errorf("--kind: %w%s", err, suggest.Behind(suggest.Nearest(strings.ToLower(f.kind), kindWords())))
		}
		opts.Kind = kind
	}
	if len(args) == 0 {
		return opts, nil
	}
	wanted, rest, err := parseAddress(args)
	kind, isKind := kindAsScope(wanted)
	switch {
	case err != nil:
		return opts, err
	case len(rest) > 0:
		return opts, tooMuch("events", rest)
	case wanted.pod != "":
		return opts, fmt.Errorf("%s is a pod: name the object it belongs to as SCOPE/NAME", wanted.pod)
	case wanted.scope == "" && wanted.kind.Info().Scope == api.ScopeNone && wanted.kind != "":
		wanted.scope = api.Unscoped
	case wanted.scope == "", isKind:
		ref, err := resolve(ctx, c, wanted)
		if _, gone := errors.AsType[*missingError](err); gone && isKind { // its events are kept
			ref, err = keptEvents(ctx, c, wanted, kind), nil
		}
		if err != nil {
			return opts, err
		}
		wanted = address{kind: ref.Kind, scope: ref.Scope, name: ref.Name}
	}
	opts.Scope, opts.Name = wanted.scope, wanted.name
	if wanted.kind != "" {
		opts.Kind = storedAs(wanted.kind)[0]
	}
	return opts, nil
}

func (a *app) eventsCommand() *cobra.Command {
	var f eventFlags
	command := &cobra.Command{
		Use:   "events [[KIND] SCOPE/NAME]",
		Short: "list what happened to objects, or follow it",
		Long: "List what happened, oldest first: each change of an object or of its status, who made it, and how each reconcile ended.\n" +
			"The log is kept for a week (see docs/use/events.md); -f goes on from where it was after a restart of the server.",
		Example:           "  tend events\n  tend events -f --type reconciliation.failed\n  tend events prod/web --last 5\n  tend events -f -o json",
		Args:              takes(0, 2),
		ValidArgsFunction: a.completeObjects,
	}
	f.declare(command)
	command.RunE = a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		opts, err := f.options(ctx, c, args)
		if err == nil {
			err = f.check(command)
		}
		if err != nil {
			return err
		}
		return a.showEvents(ctx, c, f, opts, eventListing)
	})
	return command
}

// eventItems are events as -o json prints them. The next ones follow after Next, which is for --since.
type eventItems struct {
	items[api.Event]
	Next string `json:"next"`
}

// eventLister returns events as a table.
type eventLister func(events []api.Event, now time.Time) listing

// showEvents lists events or follows them.
func (a *app) showEvents(
	ctx context.Context, c *client.Client, f eventFlags, opts client.EventOptions, list eventLister,
) error {
	if f.follow {
		if f.lastGiven {
			recent := opts
			recent.Last, recent.Limit = true, f.last
			page, err := c.ListEvents(ctx, recent)
			if err != nil {
				return err
			}
			for _, event := range page.Events {
				if err := a.printEvent(event, list); err != nil {
					return err
				}
			}
			opts.Since = page.Next
		}
		return a.followEvents(ctx, c, opts, list)
	}
	var all api.EventPage
	opts.Last, opts.Limit = opts.Since == "", f.last
	for {
		page, err := c.ListEvents(ctx, opts)
		if err != nil {
			return err
		}
		all.Events, all.Next = append(all.Events, page.Events...), page.Next
		if opts.Last || !page.More {
			break
		}
		opts.Since = page.Next
	}
	l := list(all.Events, time.Now())
	l.value = eventItems{itemsOf(all.Events), all.Next}
	if len(all.Events) == 0 {
		if err := neverThere(ctx, c, opts); err != nil {
			return err
		}
		if opts.Name == "" {
			l.empty += scopeHint(ctx, c, opts.Scope)
		}
	}
	return l.write(a.streams, a.output)
}

// followEvents prints events as they come, until the command is interrupted.
func (a *app) followEvents(
	ctx context.Context, c *client.Client, opts client.EventOptions, list eventLister,
) error {
	events := c.Events(ctx, opts)
	defer events.Close()
	for {
		event, err := events.Next()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := a.printEvent(event, list); err != nil {
			return err
		}
	}
}

// printEvent prints one event as a line.
func (a *app) printEvent(event api.Event, list eventLister) error {
	switch a.output {
	case "json":
		return json.NewEncoder(a.out).Encode(event)
	case "yaml":
		fmt.Fprintln(a.out, "---")
		return writeYAML(a.out, event)
	}
	l := list([]api.Event{event}, time.Now())
	if a.output == "name" {
		_, err := fmt.Fprintln(a.out, l.names[0])
		return err
	}
	return printColumns(a.streams, l.rows[0], []int{20, 32, 40})
}

// printColumns prints a row whose first cells have a width, because the rows to come are not known. On a terminal that
// is too narrow the cells stand side by side without it.
func printColumns(s streams, cells []string, widths []int) error {
	line := func(pad bool) string {
		padded := slices.Clone(cells)
		for i, cell := range cells {
			if padded[i] = printable(cell, ""); pad && i < len(widths) {
				padded[i] = fmt.Sprintf("%-*s", widths[i], padded[i])
			}
		}
		return strings.TrimRight(strings.Join(padded, "  "), " ")
	}
	text, width := line(true), s.width()
	if width > 0 && ansi.StringWidth(text) > width {
		text = line(false)
	}
	_, err := fmt.Fprintln(s.out, wrapped(text, width))
	return err
}

func eventListing(events []api.Event, now time.Time) listing {
	l := listing{
		header: []string{"TIME", "OBJECT", "WHAT", "BY"}, wideHeader: []string{"TYPE", "ID"},
		empty:  "no events are kept that match",
		narrow: narrowing{from: map[string]int{"BY": 115, "TIME": 135}, cut: []string{"WHAT"}},
	}
	if ofOneObject(events) { // the one that was asked for
		l.narrow.from = map[string]int{"BY": 75, "TIME": 95, "OBJECT": 135}
	}
	var times []time.Time
	for _, e := range events {
		d := eventData(e)
		times = append(times, e.Time)
		l.names = append(l.names, e.ID)
		l.rows = append(l.rows, []string{e.Time.UTC().Format(time.RFC3339), eventObject(e, d),
			dash(whatHappened(e, d)), dash(eventBy(d))})
		l.wideRows = append(l.wideRows, []string{e.Type, e.ID})
	}
	l.narrow.brief = map[string]column{"TIME": ages(times, now)}
	return l
}

// ofOneObject reports whether several events are about the same object.
func ofOneObject(events []api.Event) bool {
	return len(events) > 1 && !slices.ContainsFunc(events, func(e api.Event) bool {
		return e.Subject != events[0].Subject || eventData(e).Kind != eventData(events[0]).Kind
	})
}

// eventObject names the object of an event with its kind: an ingress often has the name of what it leads to.
func eventObject(e api.Event, d api.EventData) string {
	if d.Kind == "" {
		return e.Subject
	}
	return string(d.Kind) + "/" + shortName(d.Ref())
}

// ages returns the shorter form of a column of times.
func ages(times []time.Time, now time.Time) column {
	c := column{title: "AGE"}
	for _, at := range times {
		c.cells = append(c.cells, age(at, now))
	}
	return c
}

// eventData returns the data of an event about an object; what can't be read is empty.
func eventData(e api.Event) (d api.EventData) {
	_ = json.Unmarshal(e.Data, &d)
	return d
}
