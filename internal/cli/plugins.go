package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/suggest"
)

func (a *app) pluginsCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "plugins", Short: "list, install, update or remove plugins", Args: takes(0, 0),
		Long: "List, install, update or remove plugins: programs that add commands, and macros for manifests. They run on the server's\n" +
			"machine as the user the server runs as: install none that you wouldn't run yourself.",
		Example: "  tend plugins\n  tend plugins install ./my-plugin\n  tend plugins install acme/tend-redis --version 1.2.0\n  tend redis:link prod/cache prod/web",
		RunE:    a.connected(a.listPlugins),
	}
	command.AddCommand(
		&cobra.Command{Use: "list", Short: "list plugins", Args: takes(0, 0), RunE: a.connected(a.listPlugins)},
		a.installPluginCommand(), a.updatePluginCommand(),
		&cobra.Command{Use: "remove NAME", Aliases: []string{"rm"},
			Short: "remove a plugin; what its macros stand for stays", Args: takes(1, 1),
			RunE: a.connected(a.removePlugin)},
	)
	return command
}

func (a *app) listPlugins(ctx context.Context, c *client.Client, _ []string) error {
	listed, err := c.Plugins(ctx)
	if err != nil {
		return err
	}
	out := listing{
		value: listed, header: []string{"NAME", "VERSION", "ALIASES", "COMMANDS"}, wideHeader: []string{"SOURCE", "PINNED"},
		narrow: narrowing{drop: []string{"ALIASES", "VERSION"}, cut: []string{"COMMANDS"}},
		empty:  "no plugins: `tend plugins install SOURCE` installs one",
	}
	for _, p := range listed.Items {
		var commands []string
		for _, command := range p.Commands {
			commands = append(commands, command.Name)
		}
		offers := strings.Join(commands, ",")
		if p.Error != "" {
			offers = "broken: " + p.Error
		}
		out.names = append(out.names, p.Name)
		out.rows = append(out.rows, []string{p.Name, dashed(p.Version), dashed(strings.Join(p.Aliases, ",")), dashed(offers)})
		out.wideRows = append(out.wideRows, []string{dashed(p.Source), dashed(p.Pinned)})
	}
	return out.write(a.streams, a.output)
}

func dashed(text string) string {
	return cmp.Or(text, "-")
}

func (a *app) installPluginCommand() *cobra.Command {
	var version string
	command := &cobra.Command{
		Use: "install SOURCE", Short: "install a plugin, or replace it", Args: takes(1, 1),
		Long: "Install a plugin, or replace the one of its name: from a folder, an archive (.tar.gz, a file or a URL), owner/repo on GitHub,\n" +
			"or the URL of a git repository. Its install hook runs last; where that fails, what was installed before stays.",
		Example: "  tend plugins install ./my-plugin\n  tend plugins install acme/tend-redis --version 1.2.0\n  tend plugins install https://example.org/redis.tar.gz",
		RunE: a.connected(func(ctx context.Context, c *client.Client, args []string) error {
			source := localSource(args[0])
			if source == args[0] { // no folder of that name
				split := api.PluginSource{Repo: source, Version: version}.Split()
				source, version = split.Repo, split.Version
			}
			installed, err := c.InstallPlugin(ctx, api.PluginInstall{Source: source, Version: version})
			if err != nil {
				return err
			}
			return a.sayInstalled(installed)
		}),
	}
	command.Flags().StringVar(&version, "version", "",
		"pin it to a `VERSION`: a repository's tag v<version> (default: the newest)")
	return command
}

// localSource returns a path that is there as the server, which works elsewhere, can find it.
func localSource(source string) string {
	if _, err := os.Stat(source); err != nil {
		return source
	}
	if absolute, err := filepath.Abs(source); err == nil {
		return absolute
	}
	return source
}

func (a *app) sayInstalled(installed api.Plugin) error {
	return a.say(installed, installed.Name,
		strings.TrimSpace(fmt.Sprintf("plugin %s %s installed", installed.Name, installed.Version)))
}

func (a *app) updatePluginCommand() *cobra.Command {
	var version string
	command := &cobra.Command{
		Use: "update [NAME]", Short: "reinstall plugins from their source", Args: takes(0, 1),
		Long: "Reinstall a plugin from its source, or all of them. One that is pinned stays at its version, unless --version\n" +
			"names another (\"latest\" takes the pin off).",
		Example: "  tend plugins update\n  tend plugins update redis --version 1.3.0",
	}
	command.RunE = a.connected(func(ctx context.Context, c *client.Client, args []string) error {
		if version != "" && len(args) == 0 {
			return fmt.Errorf("--version belongs to one plugin: tend plugins update NAME --version %s", version)
		}
		listed, err := c.Plugins(ctx)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			return a.updatePlugins(ctx, c, listed.Items)
		}
		var names []string
		for _, p := range listed.Items {
			if p.Name == args[0] {
				return a.updatePlugin(ctx, c, p, version)
			}
			names = append(names, p.Name)
		}
		return fmt.Errorf("there is no plugin %s%s\n  `tend plugins` lists what there is", args[0],
			suggest.Behind(suggest.Nearest(args[0], names)))
	})
	command.Flags().StringVar(&version, "version", "",
		"the `VERSION` to take (default: the one it is pinned to, else the newest)")
	return command
}

// updatePlugin reinstalls a plugin that the user named.
func (a *app) updatePlugin(ctx context.Context, c *client.Client, p api.Plugin, version string) error {
	if p.Source == "" {
		return fmt.Errorf("nothing says where %s came from\n  install it with `tend plugins install SOURCE`", p.Name)
	}
	installed, err := c.InstallPlugin(ctx, api.PluginInstall{Name: p.Name, Version: cmp.Or(version, p.Pinned)})
	if err != nil {
		return err
	}
	return a.sayInstalled(installed)
}

// updatePlugins reinstalls all plugins, except those with an unknown source. A program gets one list of them.
func (a *app) updatePlugins(ctx context.Context, c *client.Client, all []api.Plugin) error {
	var done []api.Plugin
	for _, p := range all {
		if p.Source == "" {
			fmt.Fprintf(a.err, "%s passed over: nothing says where it came from\n", p.Name)
			continue
		}
		installed, err := c.InstallPlugin(ctx, api.PluginInstall{Name: p.Name, Version: p.Pinned})
		if err == nil && !a.structured() {
			err = a.sayInstalled(installed)
		}
		if err != nil {
			return err
		}
		done = append(done, installed)
	}
	if !a.structured() {
		return nil
	}
	return listing{value: itemsOf(done)}.write(a.streams, a.output)
}

func (a *app) removePlugin(ctx context.Context, c *client.Client, args []string) error {
	removed, err := c.RemovePlugin(ctx, args[0])
	if err != nil {
		return err
	}
	if removed.Warning != "" {
		fmt.Fprintf(a.err, "warning: %s\n", printable(removed.Warning, "\n"))
	}
	return a.say(removed, removed.Name, fmt.Sprintf("plugin %s removed", removed.Name))
}
