package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/takeover"
)

func (a *app) adoptCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "adopt",
		Short: "take over what another tool runs on this machine",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(a.adoptComposeCommand())
	return command
}

// adoption holds the options of `tend adopt compose`.
type adoption struct {
	files          []string
	project, scope string
	dryRun, yes    bool
	undo, finish   bool
	force          bool
	timeout        time.Duration
}

func (a *app) adoptComposeCommand() *cobra.Command {
	var ask adoption
	command := &cobra.Command{
		Use:   "compose [DIR | -f FILE...]",
		Short: "take over a running Compose project, service by service",
		Long: "Take over a Compose project that runs on this machine: show what becomes of it, ask, and then, in the order of depends_on,\n" +
			"stop a service's containers, apply its object and wait until it is good. Volumes, networks and the images that Compose built\n" +
			"stay as they are; services that write to one volume are taken over together. If an object doesn't become good, it is\n" +
			"deleted, and the old containers start again.\n\n" +
			"The manifests are written into .tend/SCOPE.hcl of DIR. The old containers stay, stopped, under a name that says so:\n" +
			"--undo deletes the objects, without volumes, waits until their pods are gone, and then starts the containers again;\n" +
			"--finish removes the containers. Each goes on where it was interrupted.\n\n" +
			"A service that has run to its end becomes a job, which runs once more in its turn; its container keeps its name. --undo\n" +
			"deletes a job only together with services that write to the same volume. One whose container still runs is left alone.\n\n" +
			"Exit status: 0 done, 1 error or given back, 2 or 3 as `tend apply` has it for an object that was given back.",
		Example: "  tend adopt compose --dry-run\n  tend adopt compose /srv/shop --scope prod\n  tend adopt compose -f compose.yaml -f compose.prod.yaml --yes\n" +
			"  tend adopt compose --undo\n  tend adopt compose --finish",
		Args: takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ask.undo && ask.finish {
				return errors.New("--undo and --finish are opposites: give one of them")
			}
			if ask.timeout <= 0 {
				return fmt.Errorf("--timeout %s: want more than nothing, as in 5m", ask.timeout)
			}
			p, err := readProject(cmd.Context(), ask, args)
			if err != nil {
				return err
			}
			defer p.engine.Close()
			return a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
				return a.adopt(ctx, c, p)
			})(cmd, nil)
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&ask.files, "file", "f", nil,
		"Compose `FILE` (repeatable; default: what Compose would read in DIR)")
	flags.StringVarP(&ask.project, "project", "p", "", "`NAME` of the Compose project (default: the files')")
	flags.StringVar(&ask.scope, "scope", "", "`SCOPE` of the objects (default: the project's name)")
	flags.BoolVar(&ask.dryRun, "dry-run", false, "show what would be done; change nothing")
	flags.BoolVarP(&ask.yes, "yes", "y", false, "don't ask")
	flags.BoolVar(&ask.undo, "undo", false, "give the project back to Compose")
	flags.BoolVar(&ask.finish, "finish", false, "remove the old containers; their volumes stay")
	flags.BoolVar(&ask.force, "force", false, "overwrite .tend/SCOPE.hcl if it holds something else")
	flags.DurationVar(&ask.timeout, "timeout", 10*time.Minute, "how long to wait for an object before it is given back")
	return command
}

// adopt shows what is left to be done, asks, and does it.
func (a *app) adopt(ctx context.Context, c *client.Client, p *composeProject) error {
	if err := p.checkHere(ctx, c); err != nil {
		return err
	}
	t := &takingOver{app: a, client: c, project: p}
	goal := takeover.Adopt
	switch {
	case p.ask.undo:
		goal = takeover.Undo
	case p.ask.finish:
		goal = takeover.Finish
	}
	if err := t.recall(ctx, goal); err != nil {
		return err
	}
	services, err := t.observe(ctx)
	if err != nil {
		return err
	}
	steps, err := takeover.Plan(p.read.Scope, services, goal)
	if err != nil {
		return p.explain(err)
	}
	if err := t.present(ctx, goal, services, len(steps) > 0); err != nil {
		return err
	}
	if len(steps) == 0 {
		fmt.Fprintln(a.err, nothingLeft(p, goal))
		return nil
	}
	for _, step := range steps {
		fmt.Fprintf(a.err, "  %s\n", step)
	}
	if p.ask.dryRun {
		return nil
	}
	if err := a.confirm(p.ask.yes, question(p, goal, services)); err != nil {
		return err
	}
	if goal == takeover.Adopt {
		if err := t.prepare(ctx, services); err != nil {
			return err
		}
	}
	if err := t.reach(ctx, goal); err != nil {
		return err
	}
	a.sayReached(p, goal)
	return nil
}

// present checks that the goal can be reached, and shows what becomes of the project besides the steps.
func (t *takingOver) present(ctx context.Context, goal takeover.Goal, services []takeover.Service, steps bool) error {
	p := t.project
	switch goal {
	case takeover.Adopt:
		if !steps {
			return nil
		}
		if err := p.unfit(); err != nil {
			return err
		}
		if err := t.unblocked(ctx, services); err != nil {
			return err
		}
		t.app.showProject(p, services)
		return nil
	case takeover.Finish:
		if err := p.unfinished(services); err != nil {
			return err
		}
	}
	t.app.showUnlisted(p, goal)
	return nil
}

// checkHere makes sure that pods run on this machine, and on the engine of the project: volumes are of one engine.
func (p *composeProject) checkHere(ctx context.Context, c *client.Client) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	nodes.Items = slices.DeleteFunc(nodes.Items, func(n api.NodeInfo) bool { return n.Reason == api.ReasonNeverReported })
	if len(nodes.Items) != 1 {
		return fmt.Errorf("the cluster has %s, and a project's volumes are on one machine\n"+
			"  move it by hand: docs/use/migrate-from-compose.md", countOf(len(nodes.Items), "node"))
	}
	here, err := os.Hostname()
	if err != nil {
		return err
	}
	node := nodes.Items[0]
	if node.Hostname != here {
		return fmt.Errorf("the containers of %s are on %s, and this is %s\n  run it there", c.Server(), node.Hostname, here)
	}
	engine, err := p.engine.ID(ctx)
	if err != nil {
		return err
	}
	return checkEngine(p.name, c.Server(), engine, node.EngineID)
}

// checkEngine refuses an engine that isn't the node's. One without an id passes.
func checkEngine(project, server, engine, node string) error {
	if engine == "" || node == "" || engine == node {
		return nil
	}
	return fmt.Errorf("%s runs on another engine than the pods of %s: its volumes aren't there\n"+
		"  use that engine (DOCKER_HOST, docker context use), or start the server with this one", project, server)
}
