package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/change"
)

func (a *app) historyCommand() *cobra.Command {
	last := 0
	command := &cobra.Command{
		Use:   "history [KIND] SCOPE/NAME",
		Short: "tell the life of an object: who changed what, which release followed, and whether it worked",
		Long: "Tell the life of an object from the log of events: who changed which fields when, which release followed, and whether\n" +
			"it worked, or why not. It reaches back as far as the log does, also for an object that is gone.",
		Example:           "  tend history prod/web\n  tend history ingress prod/web -o json",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeObjects,
	}
	command.Flags().IntVar(&last, "last", 1000, "how `MANY` events of the object to read")
	command.RunE = a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		if last < 1 {
			return fmt.Errorf("--last %d: want 1 or more", last)
		}
		opts, err := (&eventFlags{}).options(ctx, c, args)
		if err != nil {
			return err
		}
		opts.Last, opts.Limit = true, last
		page, err := c.ListEvents(ctx, opts)
		if err != nil {
			return err
		}
		events, err := ofOneKind(page.Events)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			named := address{kind: opts.Kind, scope: opts.Scope, name: opts.Name}
			if labs := labsOfClass(ctx, c, named); len(labs) > 0 {
				return &classError{class: named.name, labs: labs}
			}
		}
		if len(events) == 0 {
			if err := neverThere(ctx, c, opts); err != nil {
				return err
			}
		}
		if by := deletionOf(events); by.ID != "" {
			fmt.Fprintf(a.err, "note: there is no %s any more: it was deleted at %s\n", eventData(by).Ref(),
				by.Time.UTC().Format(time.RFC3339))
		}
		return historyListing(change.History(events), time.Now()).write(a.streams, a.output)
	})
	return command
}

// deletionOf returns the event by which an object ceased to be; the zero event if it is there.
func deletionOf(events []api.Event) (last api.Event) {
	for _, e := range events {
		switch actionOf(e, eventData(e)) {
		case api.EventDeleted:
			last = e
		case api.EventCreated:
			last = api.Event{}
		}
	}
	return last
}

// neverThere returns an error if the object whose events were asked for doesn't exist, and the log has no event of it:
// a name that was typed wrong. Of one that was deleted the log knows, for as long as it is kept.
func neverThere(ctx context.Context, c *client.Client, asked client.EventOptions) error {
	if asked.Name == "" || asked.Kind == api.KindNode { // a node needs no object
		return nil
	}
	whole := client.EventOptions{Kind: asked.Kind, Scope: asked.Scope, Name: asked.Name, Audit: asked.Audit,
		Last: true, Limit: 1}
	if page, err := c.ListEvents(ctx, whole); err != nil || len(page.Events) > 0 {
		return err
	}
	wanted := address{kind: asked.Kind, scope: asked.Scope, name: asked.Name}
	if found, err := candidates(ctx, c, wanted); err != nil || len(found) > 0 {
		return err
	}
	return unlessClass(ctx, c, wanted, missing(ctx, c, wanted))
}

// ofOneKind returns the events of the one kind that they are about: of a name that several kinds have, of what runs.
func ofOneKind(events []api.Event) ([]api.Event, error) {
	kinds := map[api.Kind][]api.Event{}
	for _, e := range events {
		kind := eventData(e).Kind
		kinds[kind] = append(kinds[kind], e)
	}
	var names []string
	var chosen []api.Event
	for _, only := range []func(api.Kind) bool{api.Kind.HasContainers, func(api.Kind) bool { return true }} {
		for kind, own := range kinds {
			if only(kind) {
				names, chosen = append(names, string(kind)), own
			}
		}
		if len(names) > 0 {
			break
		}
	}
	if len(names) > 1 {
		slices.Sort(names)
		return nil, fmt.Errorf("several kinds had the name: say which of %s", strings.Join(names, ", "))
	}
	return chosen, nil
}

// actionOf returns the part of an event's type after its kind.
func actionOf(e api.Event, d api.EventData) api.EventAction {
	return api.EventAction(strings.TrimPrefix(e.Type, api.EventType(d.Kind, "")))
}

func historyListing(all []change.Chapter, now time.Time) listing {
	l := listing{
		value: itemsOf(all), header: []string{"TIME", "BY", "CHANGE", "RELEASE", "OUTCOME"}, wideHeader: []string{"GENERATION"},
		empty:  "the log has nothing about it",
		narrow: narrowing{from: map[string]int{"RELEASE": 55, "BY": 95, "TIME": 115}, cut: []string{"CHANGE", "OUTCOME"}},
	}
	var times []time.Time
	for _, c := range all {
		first, rest := fates[c.Fate], []change.Outcome(nil)
		switch {
		case len(c.Outcomes) > 0 && isOver(c.Outcomes[0]): // no outcome of the change
			first, rest = "", c.Outcomes
		case len(c.Outcomes) > 0:
			first, rest = outcomeText(c.Outcomes[0], c.At), c.Outcomes[1:]
		}
		times = append(times, c.At)
		l.add(c.At, eventBy(c.EventData), changeText(c), c.Release, first, c.Generation)
		for _, o := range rest {
			times = append(times, o.At)
			l.add(o.At, "", "", o.Release, outcomeText(o, time.Time{}), c.Generation)
		}
	}
	l.narrow.brief = map[string]column{"TIME": ages(times, now)}
	return l
}

func (l *listing) add(at time.Time, by, change, release, outcome string, generation int64) {
	when := at.UTC().Format(time.RFC3339)
	l.names = append(l.names, when)
	l.rows = append(l.rows, []string{when, dash(by), dash(change), dash(release), dash(outcome)})
	l.wideRows = append(l.wideRows, []string{fmt.Sprint(generation)})
}

// fates are the words for what became of a change that has no outcome.
var fates = map[change.Fate]string{
	change.FateUnderWay: "under way", change.FateSuperseded: "superseded by the next change",
	change.FateJoined: "went on with the next change",
	change.FateQuiet:  "comes with the next release", change.FateUnchanged: "nothing to do",
	change.FateNextRun: "comes with its next run",
	change.FateDeleted: "deleted before it was done",
}

// changeText describes what was changed.
func changeText(c change.Chapter) string {
	if c.Type == "" {
		return "(before the log begins)"
	}
	switch action := actionOf(api.Event{Type: c.Type}, c.EventData); action {
	case api.EventUpdated:
		if c.Deletes() {
			return "deletion begins"
		}
		if fields := changedFields(c.EventData); fields != "" {
			return fields
		}
		return c.Verb
	default:
		return string(action)
	}
}

// isOver reports whether it is the end of a lab, which comes whenever it comes.
func isOver(o change.Outcome) bool { return api.LabPhase(o.Phase).Ended() }

// outcomeText describes how it ended, and how long that took since a change.
func outcomeText(o change.Outcome, since time.Time) string {
	took := ""
	switch lasted := o.At.Sub(since).Round(100 * time.Millisecond); {
	case since.IsZero():
	case lasted > 0:
		took = " after " + lasted.String()
	default:
		took = " at once"
	}
	if o.HelmRevision > 0 {
		took += fmt.Sprintf(" (Helm revision %d)", o.HelmRevision)
	}
	switch {
	case !o.Failed && o.Message != "": // the end of a lab
		return strings.ToLower(o.Phase) + ": " + o.Message
	case !o.Failed && o.Phase == string(api.LabRunning):
		return "runs" + took
	case !o.Failed:
		return "worked" + took
	}
	how := "failed"
	if o.Trying {
		how = "still trying"
	}
	return strings.TrimSuffix(how+took+": "+cmp.Or(o.Message, inWords(o.Reason)), ": ")
}
