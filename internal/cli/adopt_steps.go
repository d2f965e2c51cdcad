package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/node/runtime/docker"
)

// maxTakeoverSteps bounds a takeover: a container that another program starts again and again would make it endless.
const maxTakeoverSteps = 1000

// takingOver carries out the steps of a takeover.
type takingOver struct {
	app     *app
	client  *client.Client
	project *composeProject
	// loaded are the manifests; empty until prepare has read them.
	loaded manifest.Result
	set    string
}

// observe returns the project's services as the engine and the store have them now.
func (t *takingOver) observe(ctx context.Context) ([]takeover.Service, error) {
	containers, err := t.project.engine.Containers(ctx)
	if err != nil {
		return nil, err
	}
	return t.observed(ctx, byService(containers))
}

// observed returns the services with their containers, as the store has them now.
func (t *takingOver) observed(
	ctx context.Context, grouped map[string][]docker.ComposeContainer,
) (out []takeover.Service, err error) {
	for _, s := range t.project.services {
		one := takeover.Service{Name: s.name, Needs: s.needs, Once: s.once, Containers: plainContainers(grouped[s.name]),
			Object: s.objects[0].Name, Writes: slices.Clone(s.volumes)}
		for _, c := range grouped[s.name] {
			one.Shared = c.Shared
			for _, source := range c.Writes {
				if (api.Volume{Source: source}).Data() && !slices.Contains(one.Writes, source) {
					one.Writes = append(one.Writes, source)
				}
			}
		}
		if one.State, err = t.state(ctx, s); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	for _, ref := range t.project.kept { // it has no container, and so no step; its pods are the project's
		if ref.Kind.HasContainers() && ref.Scope == t.project.read.Scope {
			out = append(out, takeover.Service{Name: ref.Name, State: takeover.Stored, Object: ref.Name})
		}
	}
	return out, nil
}

// state returns what the store has of a service's objects.
func (t *takingOver) state(ctx context.Context, s composeService) (takeover.State, error) {
	asked := api.AwaitRequest{}
	deleting := false
	for _, ref := range s.objects {
		object, err := t.client.Object(ctx, ref)
		if client.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		deleting = deleting || object.Metadata.Deleting()
		asked.Objects = append(asked.Objects,
			api.Awaited{Ref: ref, Revision: object.Metadata.Revision, Generation: object.Metadata.Generation})
	}
	switch {
	case len(asked.Objects) == 0:
		return takeover.None, nil
	case len(asked.Objects) < len(s.objects), deleting, !t.unchanged(ctx, s):
		return takeover.Stored, nil
	}
	answer, err := t.client.Await(ctx, asked)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(answer.Outcomes, func(o api.Outcome) bool { return o.State != api.OutcomeConverged }) {
		return takeover.Stored, nil
	}
	return takeover.Good, nil
}

// unchanged reports whether an apply would leave a service's objects as they are.
func (t *takingOver) unchanged(ctx context.Context, s composeService) bool {
	if len(t.loaded.Objects) == 0 {
		return true // before the question, the plan goes by what is stored
	}
	result, err := t.client.Apply(ctx, api.ApplyRequest{Objects: t.objects(s.objects), Set: t.set, DryRun: true})
	return err == nil && !slices.ContainsFunc(result.Objects,
		func(o api.ObjectResult) bool { return o.Action != api.ActionUnchanged })
}

// objects returns the manifests of some objects.
func (t *takingOver) objects(refs []api.Ref) (out []api.Object) {
	for _, object := range t.loaded.Objects {
		if slices.Contains(refs, object.Ref()) {
			out = append(out, object)
		}
	}
	return out
}

// apply stores objects and waits until they are good.
func (t *takingOver) apply(ctx context.Context, objects []api.Object) error {
	result, err := applyRetrying(ctx, t.client, api.ApplyRequest{Objects: objects, Set: t.set})
	if err != nil {
		return located(err, t.loaded)
	}
	result.Left, result.MoreLeft = nil, 0 // the project's other services, which are applied in their turn
	return t.app.applied(ctx, t.client, applying{wait: waiting{timeout: t.project.ask.timeout}}, nil, result)
}

// reach carries out steps until the goal is reached. A unit whose objects don't become good is given back.
func (t *takingOver) reach(ctx context.Context, goal takeover.Goal) error {
	for range maxTakeoverSteps {
		services, err := t.observe(ctx)
		if err != nil {
			return t.again(err)
		}
		steps, err := takeover.Plan(t.project.read.Scope, services, goal)
		if err != nil {
			return t.project.explain(err)
		}
		if len(steps) == 0 {
			return nil
		}
		err = t.carry(ctx, services, steps[0])
		switch {
		case err == nil:
		case steps[0].Verb == takeover.Apply && ctx.Err() == nil:
			return t.giveBack(ctx, services, steps[0], err)
		default:
			return t.again(err)
		}
	}
	return fmt.Errorf("not done after %d steps: another program starts the containers of %s again",
		maxTakeoverSteps, t.project.name)
}

// again adds the ways on to the error of a step after which nothing was given back.
func (t *takingOver) again(err error) error {
	return fmt.Errorf("%w\n  to go on, repeat the command; to give the project back: %s", err, t.project.command("--undo"))
}

// giveBack returns the unit of a failed step to Compose, and reports both.
func (t *takingOver) giveBack(
	ctx context.Context, services []takeover.Service, failed takeover.Step, cause error,
) error {
	var unit []string
	for _, u := range takeover.Units(services) {
		if slices.ContainsFunc(u, func(s takeover.Service) bool { return s.Name == failed.Services[0] }) {
			for _, s := range u {
				unit = append(unit, s.Name)
			}
		}
	}
	if t.inCompose(unit) {
		fmt.Fprintf(t.app.err, "%s: not good; its old containers start again\n", join(unit))
	}
	for range maxTakeoverSteps {
		all, err := t.observe(ctx)
		if err != nil {
			return t.again(errors.Join(cause, err))
		}
		of := slices.DeleteFunc(all, func(s takeover.Service) bool { return !slices.Contains(unit, s.Name) })
		steps, err := takeover.Plan(t.project.read.Scope, of, takeover.Undo)
		if err != nil {
			return errors.Join(cause, t.project.explain(err))
		}
		if len(steps) == 0 {
			break
		}
		if err := t.carry(ctx, all, steps[0]); err != nil {
			return t.again(errors.Join(cause, err))
		}
	}
	text := strings.TrimSpace(cause.Error())
	if t.inCompose(unit) {
		text += fmt.Sprintf("\n%s runs in Compose again", join(unit))
	}
	code, title := exitError, ""
	if status, ok := errors.AsType[*exitStatus](cause); ok {
		code, title = status.code, status.title
	}
	return &exitStatus{code: code, title: title, text: text +
		"\n  to go on once it is corrected, repeat the command; to give back the rest: " + t.project.command("--undo")}
}

// inCompose reports whether one of the services is more than a job, and so has a container to go back to.
func (t *takingOver) inCompose(services []string) bool {
	return slices.ContainsFunc(t.project.services,
		func(s composeService) bool { return !s.once && slices.Contains(services, s.name) })
}

// carry carries out one step, unless something else writes to what it would let a container write to.
func (t *takingOver) carry(ctx context.Context, services []takeover.Service, step takeover.Step) error {
	switch step.Verb {
	case takeover.Apply, takeover.Rearm, takeover.Start:
		running, err := t.project.engine.Neighbours(ctx)
		if err != nil {
			return err
		}
		if err := t.project.named().Beside(services, step, running); err != nil {
			return t.project.explain(err)
		}
	}
	fmt.Fprintf(t.app.err, "%s: %s\n", join(step.Services), step)
	engine, id := t.project.engine, step.Container.ID
	//exhaustive:enforce
	switch step.Verb {
	case takeover.Apply:
		return t.apply(ctx, t.objects(t.refs(step.Services)))
	case takeover.Withdraw:
		refs := t.refs(step.Services)
		slices.Reverse(refs) // ingresses before what they lead to
		return t.app.deleteAll(ctx, t.client, deletion{tolerant: true, wait: waiting{timeout: t.project.ask.timeout}}, refs)
	case takeover.Mark, takeover.Unmark:
		return engine.Rename(ctx, id, step.Name)
	case takeover.Disarm, takeover.Rearm:
		return engine.SetRestart(ctx, id, step.Restart)
	case takeover.Stop:
		return engine.Stop(ctx, id)
	case takeover.Start:
		return engine.Start(ctx, id)
	case takeover.Remove:
		return engine.Remove(ctx, id)
	}
	return nil
}

// refs returns the objects of services.
func (t *takingOver) refs(services []string) (out []api.Ref) {
	for _, s := range t.project.services {
		if slices.Contains(services, s.name) {
			out = append(out, s.objects...)
		}
	}
	return out
}
