package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// described is everything known about an object; it is also the value of -o json and yaml.
type described struct {
	Object   api.Object        `json:"object"`
	Pods     []api.Pod         `json:"pods"`
	Releases []api.ReleaseInfo `json:"releases"`
	Runs     []api.Run         `json:"runs,omitempty"`
	// Webhooks are the calls under way, and those that ended within the last hour, newest first.
	Webhooks []api.Delivery `json:"webhooks,omitempty"`
	// Events are the newest events, oldest first. Of consecutive ones that only count pods the last is kept. If the last
	// apply is older, it comes first.
	Events []api.Event `json:"events,omitempty"`
}

func (a *app) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "describe POD | node NAME | [KIND] SCOPE/NAME",
		Short:             "show an object with its conditions, rollout, pods and releases; or a pod, or a node",
		Example:           "  tend describe prod/web\n  tend describe node n1\n  tend describe prod-web.1a2b3c4d\n  tend describe deployment prod/web -o json",
		Args:              takes(1, 2),
		ValidArgsFunction: a.completePods,
		RunE: a.orNode(a.addressed(func(ctx context.Context, c *client.Client, wanted address, rest []string) error {
			if err := wanted.tooMuch("describe", rest); err != nil {
				return err
			}
			if wanted.pod != "" {
				pod, err := c.Pod(ctx, wanted.pod)
				if err != nil {
					return err
				}
				return a.describePod(pod)
			}
			ref, err := resolve(ctx, c, wanted)
			if err != nil {
				return err
			}
			d, err := a.gather(ctx, c, ref)
			if err != nil {
				return unlessClass(ctx, c, wanted, err)
			}
			return a.describe(d)
		})),
	}
}

// orNode describes a node if the first word says so.
func (a *app) orNode(otherwise runner) runner {
	return func(cmd *cobra.Command, args []string) error {
		if args[0] != "node" && args[0] != "nodes" {
			return otherwise(cmd, args)
		}
		return a.connected(a.describeNode)(cmd, args[1:])
	}
}

func (a *app) gather(ctx context.Context, c *client.Client, ref api.Ref) (d described, err error) {
	if d.Object, err = c.Object(ctx, ref); err != nil {
		return d, err
	}
	d.Events = newestEvents(ctx, c, ref)
	if ref.Kind.HasVersions() {
		releases, err := c.Releases(ctx, client.TargetOf(ref))
		d.Releases = releases.Items
		return d, err
	}
	if !ref.Kind.HasContainers() {
		return d, nil
	}
	pods, err := c.Pods(ctx, client.PodFilter{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name})
	if err != nil {
		return d, err
	}
	d.Pods = pods.Items
	if ref.Kind.HasRuns() {
		runs, err := c.Runs(ctx, client.TargetOf(ref))
		d.Runs = runs.Items
		return d, err
	}
	releases, err := c.Releases(ctx, client.TargetOf(ref))
	if err != nil {
		return d, err
	}
	d.Releases = releases.Items
	deliveries, err := c.Deliveries(ctx, client.TargetOf(ref))
	d.Webhooks = deliveries.Items
	return d, err
}

func (a *app) describe(d described) error {
	if a.structured() || a.output == "name" {
		return listing{value: d, names: []string{d.Object.Ref().String()}}.write(a.streams, a.output)
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](d.Object)
	if err != nil {
		return err
	}
	return a.composed(func(a *app) error { return a.describeAll(d, status, time.Now()) })
}

// describeAll writes every section of a description.
func (a *app) describeAll(d described, status api.WorkloadStatus, now time.Time) error {
	w := plain{a.out}
	switch {
	case d.Object.Kind.HasSlots():
		describeHead(w, d.Object, status, now)
		describeRollout(w, status.Rollout, now)
		describeAutoscale(w, d.Object, status.Autoscale, now)
	case d.Object.Kind.TimeBoxed():
		describeLab(w, d.Object, now)
	case d.Object.Kind.HasRuns():
		describeJob(w, d.Object, now)
	default:
		describePlain(w, d.Object, now)
	}
	describeConditions(w, status.Conditions, d.Pods, now)
	if err := a.section("Nodes", networkListing(d.Object)); err != nil {
		return err
	}
	if err := a.section("Releases", briefReleases(releaseListing(d.Releases, now))); err != nil {
		return err
	}
	if err := a.section("Runs", runListing(d.Runs, false, now)); err != nil {
		return err
	}
	if err := a.section("Pods", podListing(d.Pods, now)); err != nil {
		return err
	}
	describeTroubles(w, d.Pods, status.Conditions)
	if err := a.section("Webhooks", deliveryListing(d.Webhooks, now)); err != nil {
		return err
	}
	if err := a.section("Events", briefEvents(d.Events, now)); err != nil {
		return err
	}
	if err := a.section("Set by others", othersListing(d.Object, now)); err != nil {
		return err
	}
	return describeSpec(w, d.Object, status.Rollout)
}

// describeSpec writes the spec. If a rollback turned away from it, its title names what runs in its place.
func describeSpec(w plain, object api.Object, r *api.RolloutStatus) error {
	var spec strings.Builder
	if err := writeYAML(&spec, object.Spec); err != nil {
		return err
	}
	title := "Spec"
	switch {
	case r == nil || r.Failed == nil:
	case r.Phase == api.RolloutRollingBack:
		title += ", as declared; " + r.TargetRelease + " comes back"
	default:
		title += ", as declared; " + r.TargetRelease + " runs"
	}
	w.printf("\n%s\n", title)
	w.indent("  ", strings.TrimRight(spec.String(), "\n"))
	return nil
}

// describePlain writes the head of an object without slots: what its table says, one line each.
func describePlain(w plain, object api.Object, now time.Time) {
	head := object.Ref().String()
	if status, err := api.DecodeStatus[api.WorkloadStatus](object); err == nil && object.Kind.Info().Status != nil {
		state, _ := stateOf(object, status)
		head += "  " + state
	}
	w.printf("%s\n  generation %d, created %s ago\n", head, object.Metadata.Generation,
		age(object.Metadata.CreatedAt, now))
	switch object.Kind {
	case api.KindIngress:
		describeIngress(w, object, now)
	case api.KindSink:
		describeSink(w, object, now)
	case api.KindCluster:
		describeCluster(w, object, now)
	}
	if object.Kind.Delivered() {
		describeDelivered(w, object, now)
	}
	if object.Kind == api.KindSync {
		describeSync(w, object, now)
	}
}

// section writes a table below a title.
func (a *app) section(title string, l listing) error {
	if len(l.rows) == 0 {
		return nil
	}
	const prefix = "  "
	var table strings.Builder
	if err := l.write(streams{out: &table, err: a.err, columns: max(a.width()-len(prefix), 0)}, "table"); err != nil {
		return err
	}
	fmt.Fprintln(a.out, "\n"+title)
	indent(a.out, prefix, strings.TrimRight(table.String(), "\n"))
	return nil
}

func describeHead(w plain, object api.Object, status api.WorkloadStatus, now time.Time) {
	state, _ := stateOf(object, status)
	w.printf("%s  %s\n", object.Ref(), state)
	w.printf("  generation %d (observed %d), created %s ago\n", object.Metadata.Generation, status.ObservedGeneration,
		age(object.Metadata.CreatedAt, now))
	if status.Image != "" {
		w.printf("  image %s\n        %s\n", status.Image, status.ImageID)
	}
	w.printf("  replicas %d wanted, %d running, %d ready", status.Replicas, status.Running, status.Ready)
	if status.Release != "" {
		w.printf(", %d good on %s", status.Updated, status.Release)
	}
	if status.Unknown > 0 {
		w.printf(", %d unknown (their node does not answer)", status.Unknown)
	}
	if status.Frozen > 0 {
		w.printf(", %d frozen", status.Frozen)
	}
	w.printf("\n")
}

func describeRollout(w plain, r *api.RolloutStatus, now time.Time) {
	if r == nil {
		return
	}
	w.printf("  rollout to %s", rolloutState(r))
	switch {
	case !r.EndedAt.IsZero():
		w.printf(", took %s, ended %s ago", r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond), age(r.EndedAt, now))
	case !r.StartedAt.IsZero():
		w.printf(", began %s ago", age(r.StartedAt, now))
	}
	if r.LastGoodRelease != "" && r.LastGoodRelease != r.TargetRelease {
		w.printf(", last good %s", r.LastGoodRelease)
	}
	w.printf("\n")
}

// rolloutState returns the release and the phase of a rollout. One that is over stays so while its pods heal.
func rolloutState(r *api.RolloutStatus) string {
	failed := "the newest release"
	if r.Failed != nil && r.Failed.Release != "" {
		failed = r.Failed.Release
	}
	switch {
	case r.Healing && r.Phase == api.RolloutProgressing:
		return r.TargetRelease + " complete, but not all of its pods are ready"
	case r.Phase == api.RolloutRollingBack:
		return failed + " failed, rolling back to " + r.TargetRelease
	case r.Phase == api.RolloutRolledBack:
		return failed + " failed, rolled back to " + r.TargetRelease
	}
	return r.TargetRelease + " " + string(r.Phase)
}

func indent(w io.Writer, prefix, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w, strings.TrimRight(prefix+line, " "))
	}
}
