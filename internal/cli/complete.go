package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// completeObjects offers the names of objects; a server that doesn't answer offers nothing.
func (a *app) completeObjects(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(cmd, args, false)
}

// completePods offers pods too.
func (a *app) completePods(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(cmd, args, true)
}

// completeNodes offers the names of nodes.
func (a *app) completeNodes(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeMoreNodes(cmd, args, text)
}

// completeMoreNodes offers the nodes that are not named yet.
func (a *app) completeMoreNodes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.ask(cmd, func(ctx context.Context, c *client.Client) (names []string) {
		nodes, _ := c.Nodes(ctx)
		for _, node := range nodes.Items {
			if !slices.Contains(args, node.ID) {
				names = append(names, node.ID)
			}
		}
		return names
	}), cobra.ShellCompDirectiveNoFileComp
}

// completeGet offers the words of `tend get`.
func (a *app) completeGet(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		words := []string{"pods"}
		for _, kind := range api.KindsThat(api.Kind.Stored) {
			words = append(words, kind.Plural())
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(cmd, args, isPodWord(args[0]))
}

func (a *app) complete(cmd *cobra.Command, args []string, withPods bool) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 1 {
		return nil, none
	}
	if len(args) == 1 {
		if _, err := api.ParseKind(args[0]); err != nil && !isPodWord(args[0]) {
			return nil, none // the address is complete
		}
	}
	return a.ask(cmd, func(ctx context.Context, c *client.Client) (names []string) {
		for _, ref := range objectsThere(ctx, c) {
			names = append(names, shortName(ref))
		}
		if withPods {
			pods, _ := c.Pods(ctx, client.PodFilter{})
			for _, pod := range pods.Items {
				names = append(names, pod.Name)
			}
		}
		return once(names)
	}), none
}

// once returns the names in their order, each once: an ingress often has the name of what it leads to.
func once(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		before := seen[name]
		seen[name] = true
		return before
	})
}

// completeInits offers the init containers of the named object or pod; without a name, those of all.
func (a *app) completeInits(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.ask(cmd, func(ctx context.Context, c *client.Client) []string {
		names := map[string]bool{}
		for _, kind := range api.KindsThat(api.Kind.HasSlots) {
			list, err := c.Objects(ctx, kind, client.ObjectFilter{})
			if err != nil {
				return nil
			}
			for _, object := range list.Items {
				if len(args) > 0 && !speaksOf(args[len(args)-1], object.Ref()) {
					continue
				}
				spec, _ := api.DecodeWorkload(object.Kind, object.Spec)
				for _, init := range spec.Inits {
					names[init.Name] = true
				}
			}
		}
		return slices.Sorted(maps.Keys(names))
	}), cobra.ShellCompDirectiveNoFileComp
}

// speaksOf reports whether an address on the command line names an object, or a pod of it.
func speaksOf(text string, ref api.Ref) bool {
	return text == shortName(ref) || text == ref.Scope+"/"+ref.Name || strings.HasPrefix(text, ref.AppID()+".")
}
