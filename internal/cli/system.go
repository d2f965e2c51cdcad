package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) systemCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "system",
		Short: "show what lies on the disks of the nodes, and make room",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(a.diskCommand(), a.pruneCommand())
	return command
}

func (a *app) diskCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "df",
		Short: "show what lies on the disk of each node, and what nothing refers to",
		Long: "Show what lies on the disk of each node: the engine's images and volumes, the logs of Tend's containers, and what Tend\n" +
			"itself keeps. RECLAIMABLE is the size of images that Tend pulled or built and that nothing refers to: they go by\n" +
			"themselves after a day, sooner while the disk is short, and at once by `tend system prune`. -o wide lists them.",
		Example: "  tend system df\n  tend system df -o json",
		Args:    takes(0, 0),
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			disks, err := c.Disks(ctx)
			if err != nil {
				return err
			}
			return a.printDisks(disks)
		}),
	}
}

func (a *app) pruneCommand() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use:   "prune",
		Short: "remove the images that nothing refers to, without waiting for a day to pass",
		Long: "Remove, on every node, the images that Tend pulled or built and that no object, no request, no kept release and no\n" +
			"container refers to. Images of others, volumes and logs stay.",
		Example: "  tend system prune --dry-run\n  tend system prune",
		Args:    takes(0, 0),
		RunE: a.connected(func(ctx context.Context, c *client.Client, _ []string) error {
			disks, err := c.Prune(ctx, dryRun)
			if err != nil {
				return err
			}
			return a.printPrunedImages(disks, dryRun)
		}),
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "list them, and remove nothing")
	return command
}

func (a *app) printDisks(disks api.ListResult[api.NodeDisk]) error {
	l := listing{
		value: disks, empty: noNodes,
		header:     []string{"NODE", "IMAGES", "VOLUMES", "LOGS", "TEND", "RECLAIMABLE", "FREE"},
		wideHeader: []string{"SURPLUS"},
	}
	for _, d := range disks.Items {
		l.names = append(l.names, d.Node)
		if d.Message != "" {
			l.rows = append(l.rows, []string{d.Node, "-", "-", "-", "-", "-", d.Message})
			l.wideRows = append(l.wideRows, []string{"-"})
			continue
		}
		free := "-"
		if d.SizeBytes > 0 {
			free = fmt.Sprintf("%s of %s", bytesText(d.FreeBytes), bytesText(d.SizeBytes))
		}
		if d.Short {
			free += " (short)"
		}
		l.rows = append(l.rows, []string{d.Node, useText(d.Images), useText(d.Volumes), bytesText(d.Logs.Bytes),
			bytesText(d.Root.Bytes), bytesText(d.Reclaimable()), free})
		var surplus []string
		for _, image := range d.Surplus {
			surplus = append(surplus, image.Image)
		}
		l.wideRows = append(l.wideRows, []string{dash(strings.Join(surplus, ","))})
	}
	return l.write(a.streams, a.output)
}

func useText(use api.DiskUse) string {
	if use.Count == 0 {
		return "-"
	}
	return fmt.Sprintf("%s (%d)", bytesText(use.Bytes), use.Count)
}

// printPrunedImages prints an image a line, then a sentence. A node that could not be asked is an error, after the
// others.
func (a *app) printPrunedImages(disks api.ListResult[api.NodeDisk], dryRun bool) error {
	l := listing{value: disks, header: []string{"NODE", "IMAGE", "SIZE", "UNUSED", "RESULT"},
		empty: "every image that Tend pulled or built is needed"}
	var missed []string
	for _, d := range disks.Items {
		if d.Message != "" {
			missed = append(missed, d.Node+": "+d.Message)
		}
		for _, image := range d.Surplus {
			unused := age(image.Since, time.Now())
			l.names = append(l.names, image.Image)
			l.rows = append(l.rows, []string{d.Node, image.Image, bytesText(image.Bytes), unused, resultOf(image, dryRun)})
		}
	}
	if err := l.write(a.streams, a.output); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("not all could be asked: %s", strings.Join(missed, "; "))
	}
	return nil
}

func resultOf(image api.SurplusImage, dryRun bool) string {
	switch {
	case dryRun:
		return "would be removed"
	case image.Removed:
		return "removed"
	}
	return "kept: a container was made from it"
}
