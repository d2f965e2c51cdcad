package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/suggest"
)

// query holds the flags of `tend get`.
type query struct{ scope, selector string }

// watchInterval is the time between two listings of --watch.
const watchInterval = time.Second

func (a *app) getCommand() *cobra.Command {
	var (
		q          query
		watch, all bool
	)
	command := &cobra.Command{
		Use:   "get [KIND|pods|nodes] [[SCOPE/]NAME]",
		Short: "list objects, pods or nodes",
		Long:  "List objects with their state. Without arguments it lists every object; with an address, only that object.",
		Example: "  tend get\n  tend get deployments -s prod\n  tend get deployment prod/web -o yaml\n" +
			"  tend get pods prod/web -o wide\n  tend get pods -o name\n  tend get deployments -l team=core",
		Args:              takes(0, 3),
		ValidArgsFunction: a.completeGet,
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			if all && q.scope != "" {
				return errors.New("--all-scopes and --scope exclude each other; without either it is all scopes")
			}
			if !watch {
				return a.get(ctx, c, q, args)
			}
			return a.watching(ctx, func(a *app) error { return a.get(ctx, c, q, args) })
		}),
	}
	command.Flags().StringVarP(&q.scope, "scope", "s", "", "only this `SCOPE`")
	command.Flags().BoolVarP(&watch, "watch", "w", false, "list again whenever something changed, until interrupted")
	command.Flags().BoolVarP(&all, "all-scopes", "A", false, "all scopes, which is the default")
	command.Flags().StringVarP(&q.selector, "selector", "l", "", "only objects with these `LABELS` (a=b,c!=d,e)")
	return command
}

func (a *app) get(ctx context.Context, c *client.Client, q query, args []string) error {
	if len(args) == 0 {
		return a.getKinds(ctx, c, q, api.KindsThat(api.Kind.Stored))
	}
	switch word := strings.ToLower(args[0]); {
	case word == "all" && len(args) == 1:
		return a.getKinds(ctx, c, q, api.KindsThat(api.Kind.Stored))
	case isPodWord(word) || strings.HasPrefix(word, "pod/"):
		return a.getPods(ctx, c, q, args)
	case word == "node" || word == "nodes":
		if err := tooMuch("get", args[1:]); err != nil {
			return err
		}
		return a.getNodes(ctx, c)
	}
	kind, err := parseKind(args[0])
	switch {
	case err == nil && len(args) == 1:
		return a.getKinds(ctx, c, q, storedAs(kind))
	case err != nil && !strings.ContainsAny(args[0], "/."):
		if here := familiarNoun(args[0]); here != "" {
			return errors.New(here)
		}
		if named, failed := matching(ctx, c, address{name: args[0]}); failed == nil && len(named) > 0 {
			return a.getOne(ctx, c, args) // a bare name, or several objects' which the error lists
		}
		if next := misread(ctx, c, address{name: args[0]}); next != "" {
			return fmt.Errorf("%w\n  %s", err, next)
		}
		if near := suggest.Nearest(strings.ToLower(args[0]), kindWords()); near != "" {
			return fmt.Errorf("%w%s", err, suggest.Behind(near))
		}
		return fmt.Errorf("%w: want a kind such as deployments, pods, nodes, or SCOPE/NAME", err)
	}
	return a.getOne(ctx, c, args)
}

var ageCell = pattern.Lazy(`\b(\d+[smhd])+\b`)

// watching lists again and again, and prints a listing if more than its ages changed.
func (a *app) watching(ctx context.Context, list func(*app) error) error {
	last, away := "", false
	for {
		var text bytes.Buffer
		once := *a
		once.out, once.columns = &text, a.width()
		err := list(&once)
		if err != nil && (last == "" || ctx.Err() != nil || !serverAway(err)) {
			return err
		}
		away = a.noteAway(err != nil, away)
		if now := ageCell().ReplaceAllString(text.String(), ""); now != last && !away {
			if last != "" {
				fmt.Fprintln(a.out)
			}
			last = now
			if _, err := a.out.Write(text.Bytes()); err != nil {
				return err
			}
		}
		if pause(ctx, watchInterval) != nil {
			return nil //nolint:nilerr // the user has seen enough
		}
	}
}

func (a *app) getOne(ctx context.Context, c *client.Client, args []string) error {
	wanted, rest, err := parseAddress(args)
	if err != nil {
		return err
	}
	if err := wanted.tooMuch("get", rest); err != nil {
		return err
	}
	if wanted.pod != "" {
		return a.getPods(ctx, c, query{}, []string{"pod", wanted.pod})
	}
	ref, err := resolve(ctx, c, wanted)
	var object api.Object
	if err == nil {
		object, err = c.Object(ctx, ref)
	}
	var class *classError
	switch err = unlessClass(ctx, c, wanted, err); {
	case errors.As(err, &class):
		l := objectListing(class.labs, time.Now())
		l.value = api.ListResult[api.Object]{Items: class.labs}
		return l.write(a.streams, a.output)
	case err != nil:
		return err
	}
	l := objectListing([]api.Object{object}, time.Now())
	l.value = object
	return l.write(a.streams, a.output)
}

func (a *app) getKinds(ctx context.Context, c *client.Client, q query, kinds []api.Kind) error {
	var all api.ListResult[api.Object]
	for _, kind := range kinds {
		list, err := c.Objects(ctx, kind, client.ObjectFilter{Scope: q.scope, Selector: q.selector})
		if err != nil {
			return err
		}
		all.Items, all.Revision = append(all.Items, list.Items...), list.Revision
	}
	all.Items = append([]api.Object{}, all.Items...) // never null
	if a.structured() || a.output == "name" || len(all.Items) == 0 {
		l := objectListing(all.Items, time.Now())
		l.value = all
		l.empty = "nothing is declared yet: `tend apply -f FILE` declares it"
		if q != (query{}) || len(kinds) == 1 {
			l.empty = "nothing matches" + scopeHint(ctx, c, q.scope)
		}
		return l.write(a.streams, a.output)
	}
	return a.writeTables(all.Items, len(kinds) > 1)
}

// writeTables prints objects, one table for each kind. With several kinds, the first column says which one.
func (a *app) writeTables(objects []api.Object, named bool) error {
	for i := 0; i < len(objects); {
		kind := objects[i].Kind
		end := i + 1
		for end < len(objects) && objects[end].Kind == kind {
			end++
		}
		l := objectListing(objects[i:end], time.Now())
		if named {
			l.header[0] = strings.ToUpper(string(kind))
		}
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := l.write(a.streams, a.output); err != nil {
			return err
		}
		i = end
	}
	return nil
}

var errSelector = errors.New("--selector chooses objects by label; pods have none: name their object")

// getPods lists all pods, or those of the address that follows the word.
func (a *app) getPods(ctx context.Context, c *client.Client, q query, args []string) error {
	if q.selector != "" {
		return errSelector
	}
	if len(args) == 1 && isPodWord(args[0]) {
		pods, err := c.Pods(ctx, client.PodFilter{Scope: q.scope})
		if err != nil {
			return err
		}
		l := podListing(pods.Items, time.Now())
		if l.value, l.empty = pods, "no pods"; len(pods.Items) == 0 {
			l.empty += scopeHint(ctx, c, q.scope)
		}
		return l.write(a.streams, a.output)
	}
	if isPodWord(args[0]) {
		args = args[1:] // what follows may have a kind of its own: get pods job prod/import
	}
	wanted, rest, err := parseAddress(args)
	if err != nil {
		return err
	}
	if err := wanted.tooMuch("get", rest); err != nil {
		return err
	}
	pods, err := podsOf(ctx, c, wanted)
	if err != nil {
		return err
	}
	l := podListing(pods, time.Now())
	l.value, l.empty = api.ListResult[api.Pod]{Items: append([]api.Pod{}, pods...)}, "no pods"
	if wanted.pod != "" {
		l.value = pods[0]
	}
	return l.write(a.streams, a.output)
}
