package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// completion offers the words for an argument or a flag.
type completion = func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective)

// completions sets what is offered for arguments that are no objects, and for the flags that name a scope.
func (a *app) completions(root *cobra.Command) {
	for path, offers := range map[string]completion{
		"rollback":      a.completeReleases,
		"config list":   a.completeBuckets,
		"config get":    a.completeKeys,
		"config set":    a.completeBuckets,
		"config unset":  a.completeKeys,
		"config import": a.completeBuckets,
		"sinks test":    a.completeKind(api.KindSink),
		"sync now":      a.completeKind(api.KindSync),
		"sync remove":   a.completeKind(api.KindSync),
		"tokens revoke": a.offering(tokensThere),
	} {
		commandAt(root, strings.Fields(path)).ValidArgsFunction = offers
	}
	scopes := a.offering(scopesThere)
	for _, command := range root.Commands() {
		if command.Flags().Lookup("scope") != nil {
			_ = command.RegisterFlagCompletionFunc("scope",
				func(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
					return scopes(cmd, nil, text)
				})
		}
	}
}

// commandAt returns the command of a path, which has to be there. Unlike cobra's own search it changes none.
func commandAt(from *cobra.Command, path []string) *cobra.Command {
	for _, name := range path {
		at := slices.IndexFunc(from.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		from = from.Commands()[at]
	}
	return from
}

// offering offers what a server has, for the first argument; a server that doesn't answer offers nothing.
func (a *app) offering(there func(ctx context.Context, c *client.Client) []string) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 {
			return nil, none
		}
		return a.ask(cmd, there), none
	}
}

// ask asks the server what to offer. It doesn't wait long: a person has pressed a key.
func (a *app) ask(cmd *cobra.Command, there func(ctx context.Context, c *client.Client) []string) []string {
	c, err := a.dial()
	if err != nil {
		return nil
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	return there(ctx, c)
}

func scopesThere(ctx context.Context, c *client.Client) []string {
	scopes := map[string]bool{}
	for _, ref := range objectsThere(ctx, c) {
		if ref.Scope != api.Unscoped {
			scopes[ref.Scope] = true
		}
	}
	return slices.Sorted(maps.Keys(scopes))
}

func tokensThere(ctx context.Context, c *client.Client) (names []string) {
	tokens, _ := c.Tokens(ctx)
	for _, token := range tokens.Items {
		names = append(names, token.Name)
	}
	return names
}

// completeKind offers the names of the objects of a kind that have no scope.
func (a *app) completeKind(kind api.Kind) completion {
	return a.offering(func(ctx context.Context, c *client.Client) (names []string) {
		list, _ := c.Objects(ctx, kind, client.ObjectFilter{})
		for _, object := range list.Items {
			names = append(names, object.Name)
		}
		return names
	})
}

// completeReleases offers objects, then the releases of the one that is named.
func (a *app) completeReleases(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	wanted, rest, err := parseAddress(args)
	if err != nil || wanted.scope == "" || len(rest) > 0 {
		return a.completeObjects(cmd, args, text)
	}
	return a.ask(cmd, func(ctx context.Context, c *client.Client) (ids []string) {
		ref, err := resolve(ctx, c, wanted)
		if err != nil {
			return nil
		}
		releases, _ := c.Releases(ctx, client.TargetOf(ref))
		for _, release := range releases.Items {
			ids = append(ids, release.ID)
		}
		return ids
	}), none
}

// completeBuckets offers the scopes, and the apps in them.
func (a *app) completeBuckets(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const files = cobra.ShellCompDirectiveDefault
	if len(args) > 0 {
		return nil, files // KEY=@FILE, or a file to import
	}
	return a.ask(cmd, func(ctx context.Context, c *client.Client) []string {
		names := map[string]bool{}
		for _, ref := range objectsThere(ctx, c) {
			if ref.Kind.HasContainers() {
				names[ref.Scope], names[ref.Scope+"/"+ref.Name] = true, true
			}
		}
		return slices.Sorted(maps.Keys(names))
	}), cobra.ShellCompDirectiveNoFileComp
}

// completeKeys offers buckets, then the keys of the one that is named.
func (a *app) completeKeys(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeBuckets(cmd, args, text)
	}
	scope, name, _ := strings.Cut(args[0], "/")
	return a.ask(cmd, func(ctx context.Context, c *client.Client) []string {
		result, _ := c.ConfigKeys(ctx, scope, name)
		return slices.DeleteFunc(result.Keys, func(key string) bool { return slices.Contains(args[1:], key) })
	}), cobra.ShellCompDirectiveNoFileComp
}
