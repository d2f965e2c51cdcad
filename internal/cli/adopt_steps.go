package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/core/takeover"
	"tend.dev/tend/internal/manifest"
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
	grouped := byService(containers)
	var out []takeover.Service
	for _, s := range t.project.services {
		one := takeover.Service{Name: s.name, Needs: s.needs, Once: s.once, Containers: plainContainers(grouped[s.name])}
		for _, c := range grouped[s.name] {
			for _, source := range c.Writes {
				if (api.Volume{Source: source}).Data() {
					one.Writes = append(one.Writes, source)
				}
			}
		}
		if one.State, err = t.state(ctx, s); err != nil {
			return nil, err
		}
		out = append(out, one)
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
		asked.Objects = append(asked.Objects, api.Awaited{Ref: ref, Revision: object.Metadata.Revision, Generation: object.Metadata.Generation})
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
	return err == nil && !slices.ContainsFunc(result.Objects, func(o api.ObjectResult) bool { return o.Action != api.ActionUnchanged })
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

// prepare writes the manifests, checks all of them, and applies what starts nothing, before the first container stops.
func (t *takingOver) prepare(ctx context.Context) error {
	if err := t.project.write(); err != nil {
		return err
	}
	from := sources{files: []string{t.project.file}}
	var err error
	if t.loaded, err = from.load(ctx, t.app, nil); err != nil {
		return err
	}
	t.set = from.set(nil)
	var taken []api.Ref
	for _, s := range t.project.services {
		taken = append(taken, s.objects...)
	}
	checked := slices.Clone(t.loaded.Objects)
	var rest []api.Object
	for i, object := range checked {
		switch {
		case object.Kind == api.KindDeployment:
			if checked[i].Spec, err = withoutReplicas(object.Spec); err != nil {
				return err
			}
		case !slices.Contains(taken, object.Ref()):
			rest = append(rest, object)
		}
	}
	trees, err := t.app.packTrees(ctx, t.loaded, true)
	if err != nil {
		return err
	}
	defer dropTrees(trees)
	if err := errors.Join(t.app.upload(ctx, t.client, t.loaded.Uploads), t.app.sendTrees(ctx, t.client, trees)); err != nil {
		return err
	}
	if _, err := t.client.Apply(ctx, api.ApplyRequest{Objects: checked, Set: t.set, DryRun: true}); err != nil {
		return located(err, t.loaded)
	}
	if len(rest) == 0 {
		return nil
	}
	return t.apply(ctx, rest)
}

// withoutReplicas returns the spec of a deployment that starts nothing: its ports and volumes are still Compose's.
func withoutReplicas(spec json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec, &fields); err != nil {
		return nil, err
	}
	fields["replicas"] = json.RawMessage("0")
	return json.Marshal(fields)
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
		steps := takeover.Plan(services, goal)
		if len(steps) == 0 {
			return nil
		}
		err = t.carry(ctx, steps[0])
		switch {
		case err == nil:
		case steps[0].Verb == takeover.Apply && ctx.Err() == nil:
			return t.giveBack(ctx, services, steps[0], err)
		default:
			return t.again(err)
		}
	}
	return fmt.Errorf("not done after %d steps: another program starts the containers of %s again", maxTakeoverSteps, t.project.name)
}

// again adds the ways on to the error of a step after which nothing was given back.
func (t *takingOver) again(err error) error {
	return fmt.Errorf("%w\n  to go on, repeat the command; to give the project back: tend adopt compose --undo", err)
}

// giveBack returns the unit of a failed step to Compose, and reports both.
func (t *takingOver) giveBack(ctx context.Context, services []takeover.Service, failed takeover.Step, cause error) error {
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
		steps := takeover.Plan(of, takeover.Undo)
		if len(steps) == 0 {
			break
		}
		if err := t.carry(ctx, steps[0]); err != nil {
			return t.again(errors.Join(cause, err))
		}
	}
	text := strings.TrimSpace(cause.Error())
	if t.inCompose(unit) {
		text += fmt.Sprintf("\n%s runs in Compose again", join(unit))
	}
	code := exitError
	var status *exitStatus
	if errors.As(cause, &status) {
		code = status.code
	}
	return &exitStatus{code: code, text: text + "\n  to go on once it is corrected, repeat the command; to give back the rest: tend adopt compose --undo"}
}

// inCompose reports whether one of the services is more than a job, and so has a container to go back to.
func (t *takingOver) inCompose(services []string) bool {
	return slices.ContainsFunc(t.project.services, func(s composeService) bool { return !s.once && slices.Contains(services, s.name) })
}

// carry carries out one step.
func (t *takingOver) carry(ctx context.Context, step takeover.Step) error {
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

// write writes the manifests. A file that an adoption has written stays as it is, and one that `tend init` wrote is
// replaced; any other is the user's.
func (p *composeProject) write() error {
	have, err := os.ReadFile(p.file)
	switch {
	case err == nil && strings.HasPrefix(string(have), "# "+adoptedLine):
		return nil
	case err == nil && !p.ask.force && string(have) != string(p.plain):
		return fmt.Errorf("%s holds something else; nothing was done\n  move it away, or overwrite it with --force", p.file)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.file, p.text, 0o644)
}
