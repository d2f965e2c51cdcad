package daemon

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
)

// badImage can be pulled, but creating a container of it fails.
const badImage = "web:bad"

// old is a deployment that is deleted in the end.
var old = api.Ref{Kind: api.KindDeployment, Scope: "prod", Name: "old"}

// live runs the life of two deployments and a statefulset: every verb, every rollout strategy, damage by hand, a
// failing release.
func (d *drill) live() {
	for _, image := range []string{"old:1", "web:1", "web:3", badImage} {
		d.m.engine.AddImage(image)
	}
	d.m.engine.PublishImage("web:2") // an image that must be pulled
	d.apply(manifestOf(old, func(s *api.DeploymentSpec) { replicas(2)(s); s.Image = "old:1" }), 2)
	d.apply(manifestOf(web, replicas(3)), 3)
	d.scale(4)
	d.apply(d.version("web:2", api.OrderStartFirst), 4)
	d.apply(d.version("web:3", api.OrderStopFirst), 4)
	d.configure()
	d.harm()
	d.fail()
	d.rollback()
	d.freeze()
	d.ordinals()
	d.remove()
}

func (d *drill) version(image, order string) api.Object {
	return manifestOf(web, func(s *api.DeploymentSpec) {
		replicas(4)(s)
		keep := 4
		s.Image, s.KeepReleases = image, &keep
		s.Strategy.Order, s.Strategy.MaxParallel, s.Strategy.OnFailure = order, 2, api.OnFailureRollback
	})
}

// apply stores a manifest and waits until the given number of its pods run and nothing else.
func (d *drill) apply(object api.Object, running int) {
	d.t.Helper()
	spec, err := api.DecodeSpec[api.DeploymentSpec](object)
	if err != nil {
		d.t.Fatal(err)
	}
	revision := d.say(object)
	d.converged(object.Ref(), revision, spec.Image, running)
}

func (d *drill) say(object api.Object) (revision int64) {
	d.t.Helper()
	d.declare("apply "+object.Ref().String(), func(ctx context.Context) error {
		result, err := d.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{object}})
		if err == nil {
			revision = result.Objects[0].Revision
		}
		return err
	})
	return revision
}

func (d *drill) scale(to int) {
	d.t.Helper()
	var revision int64
	d.declare("scale", func(ctx context.Context) error {
		result, err := d.client.Scale(ctx, client.TargetOf(web), to)
		revision = result.Revision
		return err
	})
	d.converged(web, revision, "web:1", to)
}

func (d *drill) configure() {
	d.t.Helper()
	d.declare("config", func(ctx context.Context) error {
		_, err := d.client.SetConfig(ctx, web.Scope, web.Name, api.ConfigRequest{Set: map[string]string{"A": "1"}})
		return err
	})
	d.until("the environment is rolled out", func(ctx context.Context) bool {
		return d.statusOf(ctx, web).Release == "v4"
	})
	d.converged(web, 0, "web:3", 4)
}

// harm does to containers what users do without Tend.
func (d *drill) harm() {
	d.t.Helper()
	for what, do := range map[string]func(name string) error{
		"kill":   func(name string) error { return d.m.engine.Kill(name, "KILL") },
		"remove": d.m.engine.RemoveByHand,
		"stop":   d.m.engine.StopByHand,
	} {
		victim := d.running(web)[0]
		if err := do(victim.Name); err != nil {
			d.t.Fatalf("%s %s: %v", what, victim.Name, err)
		}
		d.until("healed after "+what, func(context.Context) bool {
			return slices.ContainsFunc(d.running(web), func(c runtime.Container) bool { return c.Name == victim.Name })
		})
		d.converged(web, 0, "web:3", 4)
	}
}

func (d *drill) fail() {
	d.t.Helper()
	// One slot at a time: if two fail together, the second may be cancelled first.
	bad := d.version(badImage, api.OrderStartFirst)
	bad.Spec = bytes.Replace(bad.Spec, []byte(`"max_parallel":2`), []byte(`"max_parallel":1`), 1)
	revision := d.say(bad)
	d.until("the failed release is rolled back", func(ctx context.Context) bool {
		status := d.statusOf(ctx, web)
		return status.ObservedRevision >= revision && status.Rollout != nil && status.Rollout.Phase == api.RolloutRolledBack
	})
	d.until("the last good release runs", func(context.Context) bool { return d.runs(web, "web:3", 4) })
}

func (d *drill) rollback() {
	d.t.Helper()
	var revision int64
	d.declare("rollback", func(ctx context.Context) error {
		result, err := d.client.Rollback(ctx, client.TargetOf(web), "v2")
		revision = result.Revision
		return err
	})
	d.converged(web, revision, "web:2", 4)
}

func (d *drill) freeze() {
	d.t.Helper()
	victim := d.running(web)[0].Name
	d.declare("freeze", func(ctx context.Context) error {
		_, err := d.client.StopPod(ctx, victim, true)
		return err
	})
	d.until("one is frozen", func(ctx context.Context) bool {
		status := d.statusOf(ctx, web)
		return status.Frozen == 1 && status.Running == 3 && d.runs(web, "web:2", 3)
	})
	d.declare("start", func(ctx context.Context) error {
		_, err := d.client.StartPod(ctx, victim)
		if client.IsNotFound(err) && d.deaths > 0 {
			return nil // the dead server got the request, and the slot was filled again
		}
		return err
	})
	d.until("none is frozen", func(ctx context.Context) bool { return d.statusOf(ctx, web).Frozen == 0 })
	d.converged(web, 0, "web:2", 4)
}

func (d *drill) remove() {
	d.t.Helper()
	d.declare("delete", func(ctx context.Context) error {
		_, err := d.client.Delete(ctx, old)
		if client.IsNotFound(err) && d.deaths > 0 {
			return nil // the dead server heard it
		}
		return err
	})
	d.until("the deleted one is gone", func(ctx context.Context) bool {
		_, err := d.client.Object(ctx, old)
		return client.IsNotFound(err)
	})
}

func (d *drill) statusOf(ctx context.Context, ref api.Ref) api.WorkloadStatus {
	object, err := d.client.Object(ctx, ref)
	if err != nil {
		return api.WorkloadStatus{}
	}
	status, err := api.DecodeStatus[api.WorkloadStatus](object)
	if err != nil {
		d.t.Fatal(err)
	}
	return status
}

// converged waits until the server reports it and the engine confirms it.
func (d *drill) converged(ref api.Ref, revision int64, image string, running int) {
	d.t.Helper()
	d.until(ref.String()+" converges on "+image, func(ctx context.Context) bool {
		status := d.statusOf(ctx, ref)
		c := api.FindCondition(status.Conditions, api.ConditionReady)
		return status.ObservedRevision >= revision && c != nil && c.Status == api.ConditionTrue && d.runs(ref, image, running)
	})
}

// runs reports whether exactly n containers run, all of one image.
func (d *drill) runs(ref api.Ref, image string, n int) bool {
	resolved, err := d.m.engine.Client("the test", "n1").Resolve(context.Background(), image)
	if err != nil {
		return false
	}
	found := d.running(ref)
	return len(found) == n && !slices.ContainsFunc(found,
		func(c runtime.Container) bool { return c.ImageID != resolved.ID })
}

// running returns the containers of an object that run, by name.
func (d *drill) running(ref api.Ref) []runtime.Container {
	var out []runtime.Container
	for _, c := range d.m.engine.Containers() {
		if strings.HasPrefix(c.Name, ref.AppID()+".") && c.State == runtime.StateRunning {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b runtime.Container) int { return strings.Compare(a.Name, b.Name) })
	return out
}
