package cli

import (
	"context"
	"fmt"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

// sayNoOutput says on stderr that there was nothing to print, and what has output instead. Of a lab that has ended it
// prints what is left.
func (a *app) sayNoOutput(ctx context.Context, c *client.Client, wanted address, filtered bool) error {
	if wanted.pod != "" {
		fmt.Fprintln(a.err, noOutputOfPod(wanted.pod, filtered))
		return nil
	}
	ref, err := resolve(ctx, c, wanted)
	if err != nil {
		return nil //nolint:nilerr // the logs had an answer
	}
	object, err := c.Object(ctx, ref)
	if err != nil {
		return err
	}
	said, err := a.sayLastLog(object)
	if err != nil || said {
		return err
	}
	ran := true
	if ref.Kind.HasRuns() {
		runs, err := c.Runs(ctx, client.Target{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name})
		if err != nil {
			return err
		}
		ran = len(runs.Items) > 0
	}
	if text := noOutput(object, ran, filtered); text != "" {
		fmt.Fprintln(a.err, text)
	}
	return nil
}

func noOutputOfPod(pod string, filtered bool) string {
	if filtered {
		return fmt.Sprintf("%s has no such output; tend logs %s shows all of it", pod, pod)
	}
	return fmt.Sprintf("%s has written nothing", pod)
}

// noOutput returns why an object has no output, and what to ask instead. ran is false if it is a job that never ran. It
// returns nothing of what runs in a Kubernetes cluster: the operator's own notes say it.
func noOutput(object api.Object, ran, filtered bool) string {
	ref := object.Ref()
	name := ref.Scope + "/" + ref.Name
	switch {
	case ref.Kind.Delivered():
		return ""
	case ref.Kind == api.KindIngress:
		spec, err := api.DecodeSpec[api.IngressSpec](object)
		if err != nil {
			break
		}
		return fmt.Sprintf("%s has no output of its own; its pods have: tend logs %s/%s", ref, ref.Scope,
			spec.ServiceName(ref.Name))
	case ref.Kind.HasRuns() && !ran:
		return fmt.Sprintf("%s has not run yet, and has no output; to run it: tend run %s", ref, name)
	case idle(object) != "":
		return idle(object)
	case ref.Kind.HasContainers() && filtered:
		return fmt.Sprintf("%s has no such output; tend logs %s shows all of it", ref, name)
	case ref.Kind.HasRuns():
		return fmt.Sprintf("the newest run of %s has written nothing; how it ended: tend runs %s", ref, name)
	case ref.Kind.HasContainers():
		return fmt.Sprintf("the pods of %s have written nothing; how they are: tend describe %s", ref, name)
	}
	return fmt.Sprintf("%s runs no containers and has no output; what it does: tend describe %s", ref, ref)
}
