package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/core/suggest"
)

// describeNode shows one node: its state, why it isn't ready, and its unknown containers.
func (a *app) describeNode(ctx context.Context, c *client.Client, names []string) error {
	if len(names) == 0 {
		return errors.New("which node? `tend nodes` lists them")
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, node := range nodes.Items {
		if node.ID == names[0] {
			return a.showNode(node)
		}
		known = append(known, node.ID)
	}
	return fmt.Errorf("there is no node %s%s\n  `tend nodes` lists what there is", names[0],
		suggest.Behind(suggest.Nearest(names[0], known)))
}

func (a *app) showNode(node api.NodeInfo) error {
	if a.structured() || a.output == "name" {
		return listing{value: node, names: []string{node.ID}}.write(a.streams, a.output)
	}
	return a.composed(func(a *app) error {
		writeNode(plain{a.out}, node, time.Now())
		return nil
	})
}

func writeNode(w plain, node api.NodeInfo, now time.Time) {
	w.printf("%s  %s\n", node.ID, nodeState(node))
	for _, fact := range [][2]string{
		{"host", node.Hostname},
		{"platform", strings.Trim(node.OS+"/"+node.Arch, "/")},
		{"role", node.Role},
		{"address", strings.Trim(addressText(node), "-")},
		{"version", node.Version},
		{"labels", labelsText(node)},
		{"takes", takesText(node)},
		{"runtime", strings.TrimSpace(node.Runtime + " " + node.RuntimeVersion)},
		{"cpus", fmt.Sprint(node.CPUs)},
		{"memory", bytesText(node.MemoryBytes)},
		{"pods", fmt.Sprint(node.Pods)},
		{"started", ago(node.StartedAt, now)},
		{"silent", silentText(node, now)},
		{"unknown", strings.Join(node.Quarantined, ", ")},
	} {
		if fact[1] != "" {
			w.printf("  %-9s %s\n", fact[0], fact[1])
		}
	}
	if node.Message != "" && !node.Ready {
		w.printf("\n  %s\n", node.Message)
		if step := nodeStep(node); step != "" {
			w.printf("  "+nextLabel+"%s\n", step)
		}
	}
	describeConditions(w, node.Conditions, nil, now)
}

// silentText says since when a node counts as lost; empty if it doesn't.
func silentText(node api.NodeInfo, now time.Time) string {
	if !node.Alive && !node.Since.IsZero() {
		return "lost " + ago(node.Since, now)
	}
	if node.Alive || node.Losses == nil || !node.Losses.Lost || len(node.Losses.At) == 0 {
		return ""
	}
	return "lost " + ago(node.Losses.At[len(node.Losses.At)-1], now)
}

// nodeStep returns what helps against a node that isn't ready.
func nodeStep(node api.NodeInfo) string {
	switch {
	case node.Reason == api.ReasonPaused:
		return "tend resume"
	case node.Reason == api.ReasonDiskFull:
		return "free disk space there; writes then resume, and reads still work"
	case node.Reason == api.ReasonNeverReported && node.Alive:
		return "see the log of tend agent on the machine, and the server's"
	case node.Reason == api.ReasonNeverReported:
		return "start tend agent on the machine; if it isn't yours: tend nodes remove " + node.ID + " --force"
	case node.Reason == api.ReasonEngineUnavailable:
		return nextstep.StartEngine
	}
	return ""
}

// takesText returns a text with what a node takes; empty if it takes everything.
func takesText(node api.NodeInfo) string {
	switch node.Spec.Availability {
	case api.NodeCordoned:
		return "no new pods (cordoned; tend uncordon " + node.ID + ")"
	case api.NodeDrained:
		return "no pods (drained; tend uncordon " + node.ID + ")"
	}
	if node.Unheard {
		return "no new pods (it " + silence(node) + ")"
	}
	if losses := node.Losses; losses != nil && !losses.Until.IsZero() {
		return fmt.Sprintf("no new pods until %s (lost %d times within an hour; tend uncordon %s)",
			losses.Until.Local().Format(time.TimeOnly), len(losses.At), node.ID)
	}
	return ""
}
