package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) getCommand() *cobra.Command {
	var scope, selector string
	command := &cobra.Command{
		Use:   "get KIND|pods|nodes [SCOPE/NAME]",
		Short: "list objects, pods or nodes",
		Example: "  tend get deployments\n  tend get deployment prod/web -o yaml\n" +
			"  tend get pods prod/web -o wide\n  tend get pods -o name",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			c, err := a.dial()
			if err != nil {
				return err
			}
			switch strings.ToLower(args[0]) {
			case "pod", "pods", "pd":
				return a.getPods(cmd.Context(), c, scope, args[1:])
			case "node", "nodes":
				return a.getNodes(cmd.Context(), c)
			}
			return a.getObjects(cmd.Context(), c, scope, selector, args)
		},
	}
	command.Flags().StringVarP(&scope, "scope", "s", "", "only this scope")
	command.Flags().StringVarP(&selector, "selector", "l", "", "only objects with these labels (a=b,c=d)")
	return command
}

func (a *app) getObjects(ctx context.Context, c *client.Client, scope, selector string, args []string) error {
	if len(args) == 1 && strings.Contains(args[0], "/") { // deployment/prod/web
		wanted, _, err := parseAddress(args)
		if err != nil {
			return err
		}
		if wanted.kind == "" {
			wanted.kind = api.KindDeployment
		}
		args = []string{string(wanted.kind), wanted.scope + "/" + wanted.name}
	}
	kind, err := api.ParseKind(args[0])
	if err != nil {
		return fmt.Errorf("%w: want one of deployments, pods, nodes", err)
	}
	if len(args) == 2 {
		wanted, _, err := parseAddress(args)
		if err != nil {
			return err
		}
		ref, err := a.resolve(ctx, c, wanted)
		if err != nil {
			return err
		}
		object, err := c.Object(ctx, ref)
		if err != nil {
			return err
		}
		l := objectListing([]api.Object{object}, time.Now())
		l.value = object
		return l.write(a.streams, a.output)
	}
	list, err := c.Objects(ctx, kind, client.ObjectFilter{Scope: scope, Selector: selector})
	if err != nil {
		return err
	}
	l := objectListing(list.Items, time.Now())
	l.value = list
	l.empty = "no " + string(kind) + "s"
	return l.write(a.streams, a.output)
}

func objectListing(objects []api.Object, now time.Time) listing {
	l := listing{
		header:     []string{"OBJECT", "READY", "UPDATED", "RELEASE", "STATE", "AGE"},
		wideHeader: []string{"IMAGE", "GENERATION", "MESSAGE"},
	}
	for _, object := range objects {
		status, _ := api.DecodeStatus[api.WorkloadStatus](object)
		state, message := stateOf(object, status)
		l.names = append(l.names, object.Ref().String())
		l.rows = append(l.rows, []string{
			object.Scope + "/" + object.Name, fmt.Sprintf("%d/%d", status.Ready, status.Replicas),
			fmt.Sprint(status.Updated), dash(status.Release), state, age(object.Metadata.CreatedAt, now),
		})
		message, _, _ = strings.Cut(message, "\n")
		l.wideRows = append(l.wideRows, []string{dash(status.Image), fmt.Sprint(object.Metadata.Generation), message})
	}
	return l
}

// stateOf is one word for how an object is, with the sentence behind it.
func stateOf(object api.Object, status api.WorkloadStatus) (state, message string) {
	if object.Metadata.Deleting() {
		return "Deleting", "its tasks are being stopped"
	}
	for _, check := range []string{api.ConditionDegraded, api.ConditionProgressing} {
		if c := api.FindCondition(status.Conditions, check); c != nil && c.Status == api.ConditionTrue {
			return c.Reason, c.Message
		}
	}
	if c := api.FindCondition(status.Conditions, api.ConditionReady); c != nil {
		return c.Reason, c.Message
	}
	return "New", "no controller has looked yet"
}

func (a *app) getPods(ctx context.Context, c *client.Client, scope string, args []string) error {
	pods, err := c.Pods(ctx, client.PodFilter{Scope: scope})
	if err != nil {
		return err
	}
	if len(args) == 1 {
		wanted, _, err := parseAddress(args)
		if err != nil {
			return err
		}
		pods.Items = slices.DeleteFunc(pods.Items, func(pod api.Pod) bool { return !wanted.owns(pod) })
	}
	l := podListing(pods.Items, time.Now())
	l.value = pods
	l.empty = "no pods"
	return l.write(a.streams, a.output)
}

func podListing(pods []api.Pod, now time.Time) listing {
	l := listing{
		header:     []string{"POD", "READY", "STATE", "RELEASE", "STARTS", "PORTS", "AGE"},
		wideHeader: []string{"NODE", "IMAGE", "ADDRESS", "TASK", "MESSAGE"},
	}
	for _, pod := range pods {
		ready := "no"
		if pod.Ready {
			ready = "yes"
		}
		l.names = append(l.names, pod.Name)
		l.rows = append(l.rows, []string{
			pod.Name, ready, podState(pod), dash(pod.Release), fmt.Sprint(pod.Incarnations), portText(pod.Ports), age(pod.CreatedAt, now),
		})
		message, _, _ := strings.Cut(pod.Message, "\n")
		l.wideRows = append(l.wideRows, []string{dash(pod.Node), dash(pod.Image), dash(pod.Address), pod.Task, message})
	}
	return l
}

// podState is the state with what a person should know of it.
func podState(pod api.Pod) string {
	switch {
	case pod.Frozen:
		return string(pod.State) + " (frozen)"
	case pod.CrashLoop:
		return "crash loop"
	case pod.Desired != api.DesiredRunning && !pod.State.Terminal():
		return "stopping"
	case !pod.Ready && pod.Reason != "" && pod.State != api.TaskShutdown:
		return string(pod.State) + " (" + pod.Reason + ")"
	}
	return string(pod.State)
}

func portText(ports []api.PortBinding) string {
	var out []string
	for _, port := range ports {
		if port.HostPort > 0 {
			out = append(out, fmt.Sprintf("%s:%d->%d", port.HostIP, port.HostPort, port.Container))
		}
	}
	return dash(strings.Join(out, ","))
}

func (a *app) getNodes(ctx context.Context, c *client.Client) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	l := listing{value: nodes, header: []string{"NODE", "STATE", "RUNTIME", "CPUS", "MEMORY", "PODS"}, wideHeader: []string{"MESSAGE"}, empty: "no nodes"}
	for _, node := range nodes.Items {
		state := "ready"
		if !node.Ready {
			state = dash(node.Reason)
		}
		if !node.Alive {
			state = "down"
		}
		l.names = append(l.names, node.ID)
		l.rows = append(l.rows, []string{
			node.ID, state, node.Runtime + " " + node.RuntimeVersion, fmt.Sprint(node.CPUs),
			fmt.Sprintf("%.1fGi", float64(node.MemoryBytes)/(1<<30)), fmt.Sprint(node.Pods),
		})
		l.wideRows = append(l.wideRows, []string{node.Message})
	}
	return l.write(a.streams, a.output)
}

func (a *app) nodesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "nodes", Short: "list nodes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.dial()
			if err != nil {
				return err
			}
			return a.getNodes(cmd.Context(), c)
		},
	}
}

// resolve completes an address to one object; an ambiguous one is an error that lists the candidates.
func (a *app) resolve(ctx context.Context, c *client.Client, wanted address) (api.Ref, error) {
	if wanted.pod != "" {
		return api.Ref{}, fmt.Errorf("%s is a pod: name its object as SCOPE/NAME", wanted.pod)
	}
	kinds := []api.Kind{wanted.kind}
	if wanted.kind == "" {
		kinds = []api.Kind{api.KindDeployment}
	}
	if wanted.kind != "" && wanted.scope != "" {
		return api.Ref{Kind: wanted.kind, Scope: wanted.scope, Name: wanted.name}, nil
	}
	var found []api.Ref
	for _, kind := range kinds {
		list, err := c.Objects(ctx, kind, client.ObjectFilter{Scope: wanted.scope})
		if err != nil {
			return api.Ref{}, err
		}
		for _, object := range list.Items {
			if wanted.matches(object.Kind, object.Scope, object.Name) {
				found = append(found, object.Ref())
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Ref{}, fmt.Errorf("there is no %s: `tend get deployments` lists what there is", wanted)
	}
	names := make([]string, len(found))
	for i, ref := range found {
		names[i] = ref.String()
	}
	return api.Ref{}, fmt.Errorf("%s is ambiguous: it may be %s", wanted, strings.Join(names, " or "))
}
