package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) auditCommand() *cobra.Command {
	var f eventFlags
	command := &cobra.Command{
		Use:   "audit [[KIND] SCOPE/NAME]",
		Short: "list the calls that may have changed something: who, what, from where, and the answer",
		Long: "List the calls that may have changed something, oldest first: who asked for what, from where, and how it was answered,\n" +
			"also what was refused. Calls without a token are one record a minute.",
		Example:           "  tend audit\n  tend audit prod/web --last 20\n  tend audit -f -o json",
		Args:              takes(0, 2),
		ValidArgsFunction: a.completeObjects,
	}
	f.declare(command)
	_ = command.Flags().MarkHidden("type") // there is one
	command.RunE = a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		opts, err := f.options(ctx, c, args)
		if err == nil {
			err = f.check(command)
		}
		if err != nil {
			return err
		}
		opts.Audit = true
		return a.showEvents(ctx, c, f, opts, auditListing)
	})
	return command
}

func auditListing(events []api.Event, now time.Time) listing {
	l := listing{
		header: []string{"TIME", "ACTOR", "CALL", "OBJECT", "ANSWER"}, wideHeader: []string{"TOOK", "REQUEST", "ID"},
		empty:  "no calls are kept that match",
		narrow: narrowing{from: map[string]int{"ACTOR": 55, "TIME": 95, "OBJECT": 115}, cut: []string{"CALL"}},
	}
	var times []time.Time
	for _, e := range events {
		var d api.AuditData
		_ = json.Unmarshal(e.Data, &d)
		times = append(times, e.Time)
		l.names = append(l.names, e.ID)
		l.rows = append(l.rows, []string{e.Time.UTC().Format(time.RFC3339), dash(d.Actor), d.Method + " " + d.Path,
			dash(auditObject(d)), auditStatus(d)})
		l.wideRows = append(l.wideRows,
			[]string{(time.Duration(d.TookMilliseconds) * time.Millisecond).String(), dash(d.Request), e.ID})
	}
	l.narrow.brief = map[string]column{"TIME": ages(times, now)}
	return l
}

// auditObject returns what a call named.
func auditObject(d api.AuditData) string {
	switch {
	case len(d.Objects) > 1 || d.MoreObjects > 0:
		return fmt.Sprintf("%s, %d more", d.Objects[0], len(d.Objects)-1+d.MoreObjects)
	case len(d.Objects) == 1:
		return d.Objects[0]
	}
	parts := []string{string(d.Kind), d.Scope, d.Name}
	return strings.Trim(strings.Join(parts, "/"), "/")
}

func auditStatus(d api.AuditData) string {
	text := fmt.Sprint(d.Status)
	switch {
	case d.Problem != "":
		text += " " + d.Problem
	case d.Status >= http.StatusBadRequest:
		text += " " + http.StatusText(d.Status)
	}
	if d.DryRun {
		text += " (dry run)"
	}
	if d.Count > 1 {
		text += fmt.Sprintf(" (%d calls)", d.Count)
	}
	return text
}
