package daemon

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// createdSpecs are the containers that were requested from the engine.
type createdSpecs struct {
	mu    sync.Mutex
	specs []runtime.ContainerSpec
}

// record stores the spec of each created container. Containers of runs exit with 0 at once.
func (c *createdSpecs) record(spec runtime.ContainerSpec) hollow.Behaviour {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.specs = append(c.specs, spec)
	return hollow.Behaviour{Exits: spec.Restart == "no"}
}

// take returns the specs created since the last call.
func (c *createdSpecs) take() []runtime.ContainerSpec {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.specs
	c.specs = nil
	return out
}

// generation holds what one version of a manifest passes to its containers.
type generation struct {
	image   string
	command string
	env     string // of the manifest
	config  string // of a bucket
}

func (g generation) container() api.Container {
	return api.Container{Image: g.image, Command: []string{g.command}, Env: map[string]string{"A": g.env}}
}

// want compares every created container with the applied manifest.
func (g generation) want(t *testing.T, when, imageID string, made []runtime.ContainerSpec) {
	t.Helper()
	if len(made) == 0 {
		t.Errorf("%s: no container was made", when)
	}
	for _, spec := range made {
		got := generation{image: spec.Image, command: strings.Join(spec.Spec.Command, " "), env: spec.Env["A"],
			config: spec.Env["SECRET"]}
		want := g
		if spec.Labels[api.LabelSlot] != "" && strings.HasSuffix(spec.Name, "-command") {
			want.command = "migrate-" + g.command
		}
		if got != want || spec.ImageID != imageID {
			t.Errorf("%s: container %s is made from %+v (%s), want %+v (%s)", when, spec.Name, got, spec.ImageID, want, imageID)
		}
	}
}

// TestRecreatedObjectSharesNothingWithTheDeletedOne applies, deletes and applies again under the same name, in one
// server process, and checks the requests to the engine.
func TestRecreatedObjectSharesNothingWithTheDeletedOne(t *testing.T) {
	strategy := &api.Strategy{Pause: "1ms", Monitor: "1ms"}
	one := 1
	kinds := map[api.Kind]struct {
		spec func(generation) any
		run  bool // the run is requested by hand
	}{
		api.KindDeployment: {spec: func(g generation) any {
			return api.DeploymentSpec{Container: g.container(), Strategy: strategy,
				Release: &api.ReleaseHooks{Command: []string{"migrate-" + g.command}}}
		}},
		api.KindStatefulSet: {spec: func(g generation) any {
			return api.StatefulSetSpec{DeploymentSpec: api.DeploymentSpec{
				Container: g.container(), Strategy: strategy, Replicas: &one,
				Release: &api.ReleaseHooks{Command: []string{"migrate-" + g.command}},
			}}
		}},
		api.KindJob: {run: true, spec: func(g generation) any { return api.JobSpec{Container: g.container()} }},
		api.KindCronJob: {run: true, spec: func(g generation) any {
			return api.CronJobSpec{JobSpec: api.JobSpec{Container: g.container()}, Schedule: "0 0 1 1 *"}
		}},
	}
	for kind, story := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			m, made := newMachine(t), &createdSpecs{}
			m.engine.Behave(made.record)
			ids := map[string]string{"web:1": m.engine.AddImage("web:1"), "web:2": m.engine.AddImage("web:2")}
			r := m.start(nil).ready()
			ref := api.Ref{Kind: kind, Scope: "prod", Name: "thing"}
			for i, g := range []generation{
				{image: "web:1", command: "first", env: "one", config: "old"},
				{image: "web:2", command: "second", env: "two", config: "rotated"},
				{image: "web:2", command: "third", env: "two", config: "rotated"},
			} {
				r.setConfig(ref, map[string]string{"SECRET": g.config})
				raw, _ := json.Marshal(story.spec(g))
				revision := r.apply(api.Object{Kind: kind, Scope: ref.Scope, Name: ref.Name, Spec: raw})
				if story.run {
					r.runToItsEnd(ref)
				} else if status := r.converged(ref, revision); status.Release != "v1" {
					t.Errorf("a fresh object begins at %s", status.Release)
				}
				specs := made.take()
				g.want(t, "applied the "+[]string{"first", "second", "third"}[i]+" time", ids[g.image], specs)
				if hooks := slices.ContainsFunc(specs,
					func(s runtime.ContainerSpec) bool { return strings.HasSuffix(s.Name, "-command") }); hooks == story.run {
					t.Errorf("the release command ran: %v", hooks)
				}
				r.deleteAndWait(ref)
			}
			if left := m.engine.Containers(); len(left) > 0 {
				t.Errorf("containers left behind: %v", left)
			}
		})
	}
}

func (r *running) setConfig(ref api.Ref, values map[string]string) {
	r.t.Helper()
	if _, err := r.client.SetConfig(context.Background(), ref.Scope, ref.Name,
		api.ConfigRequest{Set: maps.Clone(values)}); err != nil {
		r.t.Fatal(err)
	}
}

// runToItsEnd runs a job, or a cron job, and waits for the run.
func (r *running) runToItsEnd(ref api.Ref) {
	r.t.Helper()
	result, err := r.client.Run(context.Background(), client.TargetOf(ref))
	if err != nil {
		r.t.Fatal(err)
	}
	r.until("the run of "+ref.String()+" ends", func() bool {
		run, err := r.client.RunOf(context.Background(), ref, result.Run.ID)
		return err == nil && run.State == api.RunSucceeded
	})
}

func (r *running) deleteAndWait(ref api.Ref) {
	r.t.Helper()
	if _, err := r.client.Delete(context.Background(), ref); err != nil {
		r.t.Fatal(err)
	}
	r.until(ref.String()+" is gone", func() bool {
		_, err := r.client.Object(context.Background(), ref)
		return client.IsNotFound(err)
	})
}
