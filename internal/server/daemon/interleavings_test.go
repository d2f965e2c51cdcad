package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/test/race"
)

// interleavings is the number of histories for each kind. A history's number is its seed.
const interleavings = 100 / race.Few

// TestInterleavings: whatever users do to a workload concurrently, and however often the server crashes meanwhile, it
// ends with one version and the exact number of replicas of the last request.
func TestInterleavings(t *testing.T) {
	for _, kind := range []api.Kind{api.KindDeployment, api.KindStatefulSet} {
		for seed := range uint64(interleavings) {
			t.Run(fmt.Sprintf("%s-%d", kind, seed), func(t *testing.T) {
				t.Parallel()
				interleave(t, api.Ref{Kind: kind, Scope: "prod", Name: "web"}, seed)
			})
		}
	}
}

// crowd is a group of users of one workload.
type crowd struct {
	*machine
	ref  api.Ref
	mu   sync.Mutex
	runs *running
}

func interleave(t *testing.T, ref api.Ref, seed uint64) {
	m := newMachine(t)
	for n := range 4 {
		m.engine.AddImage(image(n))
	}
	c := &crowd{machine: m, ref: ref, runs: m.start(nil).ready()}
	c.runs.apply(manifestOf(ref, replicas(3)))

	var people sync.WaitGroup
	for person := range uint64(3) {
		people.Go(func() {
			random := rand.New(rand.NewPCG(seed, person))
			for range 6 {
				c.act(random)
			}
		})
	}
	people.Go(func() { // and the server is restarted
		random := rand.New(rand.NewPCG(seed, 99))
		for range random.IntN(3) {
			pause(t, random)
			c.restartServer()
		}
	})
	people.Wait()
	c.endsWell()
}

func image(n int) string { return "web:" + strconv.Itoa(n) }

func (c *crowd) server() *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs
}

// restartServer kills the server between two commits, wherever it is, and starts another over the same store and
// engine.
func (c *crowd) restartServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs.cancel()
	<-c.runs.done
	c.runs.done <- nil
	c.runs = c.start(nil).ready()
}

// act performs one action on the workload. A refusal is a valid answer, and so is a server that is just dying.
func (c *crowd) act(random *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	api1, target := c.server().client, client.Target{Kind: c.ref.Kind, Scope: c.ref.Scope, Name: c.ref.Name}
	count := 1 + random.IntN(5)
	var err error
	switch random.IntN(8) {
	case 0, 1:
		object := manifestOf(c.ref, func(s *api.DeploymentSpec) { s.Image = image(random.IntN(4)); replicas(count)(s) })
		_, err = api1.Apply(ctx, api.ApplyRequest{Objects: []api.Object{object}})
	case 2:
		_, err = api1.Scale(ctx, target, count)
	case 3:
		_, err = api1.Rollback(ctx, target, c.anyRelease(ctx, random))
	case 4:
		change := api.ConfigRequest{Set: map[string]string{"MODE": strconv.Itoa(random.IntN(9))}}
		_, err = api1.SetConfig(ctx, c.ref.Scope, c.ref.Name, change)
	case 5:
		_, err = api1.Restart(ctx, target)
	default:
		if seen := c.engine.Containers(); len(seen) > 0 { // it may be gone by then, which is fine
			_ = c.engine.RemoveByHand(seen[random.IntN(len(seen))].Name)
		}
	}
	var problem *api.Problem
	if errors.As(err, &problem) && problem.Status >= 500 && problem.Status != 503 {
		c.t.Errorf("the server could not answer: %v", err)
	}
}

// anyRelease returns a stored release or none, which means the last good one.
func (c *crowd) anyRelease(ctx context.Context, random *rand.Rand) string {
	kept, err := c.server().client.Releases(ctx, client.Target{Kind: c.ref.Kind, Scope: c.ref.Scope, Name: c.ref.Name})
	if err != nil || len(kept.Items) == 0 || random.IntN(3) == 0 {
		return ""
	}
	return kept.Items[random.IntN(len(kept.Items))].ID
}

// endsWell waits until the workload matches its spec, and checks every container of it.
func (c *crowd) endsWell() {
	c.t.Helper()
	r := c.server()
	object, err := r.client.Object(context.Background(), c.ref)
	if err != nil {
		c.t.Fatal(err)
	}
	status := r.converged(c.ref, object.Metadata.Revision)
	var spec api.DeploymentSpec
	if err := json.Unmarshal(object.Spec, &spec); err != nil {
		c.t.Fatal(err)
	}
	r.until("exactly the wanted pods run", func() bool { return len(r.live(c.ref)) == spec.ReplicaCount() })
	places := map[string]bool{}
	for _, pod := range r.live(c.ref) {
		places[pod.Slot] = true
		if pod.Release != status.Release && !c.repeats(status.Release, pod.Release) {
			c.t.Errorf("%s runs %s, and the workload is at %s", pod.Name, pod.Release, status.Release)
		}
	}
	for n := range spec.ReplicaCount() {
		if c.ref.Kind == api.KindStatefulSet && !places[strconv.Itoa(n)] {
			c.t.Errorf("ordinal %d is empty: %v", n, places)
		}
	}
	if status.Image != spec.Image {
		c.t.Errorf("%s runs, and the spec says %s", status.Image, spec.Image)
	}
	// A container removed by hand at the very end is created again a moment later.
	r.until("as many containers run", func() bool { return c.running() == spec.ReplicaCount() })
	c.sameContainers(spec)
}

// repeats reports whether a release is the return to another, whose pods are kept: what they run is compared below.
func (c *crowd) repeats(release, other string) bool {
	listed, err := c.server().client.Releases(context.Background(),
		client.Target{Kind: c.ref.Kind, Scope: c.ref.Scope, Name: c.ref.Name})
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.ContainsFunc(listed.Items,
		func(r api.ReleaseInfo) bool { return r.ID == release && r.RolledBackFrom == other })
}

func (c *crowd) running() (n int) {
	for _, container := range c.engine.Containers() {
		if container.State == "running" {
			n++
		}
	}
	return n
}

// sameContainers: the engine runs one container per place, all with one image and one environment.
func (c *crowd) sameContainers(spec api.DeploymentSpec) {
	c.t.Helper()
	live := c.engine.Containers()
	running, first := 0, []byte(nil)
	for _, container := range live {
		if container.State != "running" {
			continue
		}
		running++
		made := c.engine.Spec(container.Name)
		for _, own := range []string{api.EnvSlot, "TEND_REPLICA_ORDINAL", "TEND_REPLICA_ID", "VOODU_REPLICA_ORDINAL",
			"VOODU_REPLICA_ID"} {
			delete(made.Env, own)
		}
		says, err := json.Marshal([]any{made.ImageID, made.Env})
		if err != nil {
			c.t.Fatal(err)
		}
		if first == nil {
			first = says
		}
		if !bytes.Equal(first, says) {
			c.t.Errorf("two versions run: %s and %s", first, says)
		}
	}
	if running != spec.ReplicaCount() {
		c.t.Errorf("%d containers run, %d are wanted", running, spec.ReplicaCount())
	}
}

// pause waits a random time below 60 ms, so that the others make progress.
func pause(t *testing.T, random *rand.Rand) {
	t.Helper()
	timer := time.NewTimer(time.Duration(random.IntN(60)) * time.Millisecond)
	defer timer.Stop()
	<-timer.C
}
