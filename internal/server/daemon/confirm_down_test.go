package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// offCase is an object with pods on a machine that is said to be off.
type offCase struct {
	kind api.Kind
	name string
	spec any
	// there is the number of containers on the machine before, here on the other node afterwards, and left on the
	// machine once it has answered.
	there, here, left int
	// says are words of the object's conditions, or of its run, for pods that stay.
	says string
}

// offCases has each sort of pod that `tend nodes confirm-down` treats differently, of every kind with containers.
func offCases() []offCase {
	slots := func(edit func(*api.DeploymentSpec)) api.DeploymentSpec {
		spec := api.DeploymentSpec{Container: api.Container{Image: "web:1"},
			Strategy: &api.Strategy{Pause: "1ms", Monitor: "1ms"}}
		replicas(1)(&spec)
		if edit != nil {
			edit(&spec)
		}
		return spec
	}
	job := func(retries int) api.JobSpec {
		return api.JobSpec{Container: api.Container{Image: "web:1"}, Retries: retries}
	}
	cron := func(retries int) api.CronJobSpec {
		return api.CronJobSpec{JobSpec: job(retries), Schedule: "0 0 1 1 *"}
	}
	claims := []api.VolumeClaim{{Name: "data", MountPath: "/data"}}
	return []offCase{
		{kind: api.KindDeployment, name: "web", spec: slots(replicas(3)), there: 3, here: 3},
		{kind: api.KindDeployment, name: "everywhere", there: 1, left: 1,
			spec: slots(func(s *api.DeploymentSpec) { s.Replicas, s.Mode = nil, api.ModeGlobal })},
		{kind: api.KindDeployment, name: "pinned", there: 1, left: 1, says: "worker",
			spec: slots(func(s *api.DeploymentSpec) {
				s.Placement = &api.Placement{Constraints: []string{"node.id == worker"}}
			})},
		{kind: api.KindDeployment, name: "kept", there: 1, left: 1, says: "worker",
			spec: slots(func(s *api.DeploymentSpec) { s.Volumes = []string{"data:/data"} })},
		{kind: api.KindDeployment, name: "folder", there: 1, left: 1, says: "worker",
			spec: slots(func(s *api.DeploymentSpec) { s.Volumes = []string{"/srv/data:/data"} })},
		{kind: api.KindStatefulSet, name: "db", spec: api.StatefulSetSpec{DeploymentSpec: slots(replicas(2))},
			there: 2, here: 2},
		{kind: api.KindStatefulSet, name: "disk", there: 1, left: 1, says: "worker",
			spec: api.StatefulSetSpec{DeploymentSpec: slots(nil), VolumeClaims: claims}},
		{kind: api.KindJob, name: "again", spec: job(1), there: 1, here: 1},
		{kind: api.KindJob, name: "once", spec: job(0), there: 1, says: "worker"},
		{kind: api.KindCronJob, name: "again-due", spec: cron(1), there: 1, here: 1},
		{kind: api.KindCronJob, name: "once-due", spec: cron(0), there: 1, says: "worker"},
		{kind: api.KindLab, name: "lab", there: 1, says: "FAILED",
			spec: api.LabSpec{Container: api.Container{Image: "web:1"}, Owner: "ada@example.org", Duration: "2h"}},
	}
}

// ref returns the object of a case.
func (c offCase) ref() api.Ref { return api.Ref{Kind: c.kind, Scope: "prod", Name: c.name} }

// of returns the containers of an object on an engine, as the engine has them.
func (c offCase) of(engine *hollow.Engine) (out []runtime.Container) {
	for _, one := range engine.Containers() {
		if one.Labels[api.LabelKind] == string(c.kind) && one.Labels[api.LabelName] == c.name {
			out = append(out, one)
		}
	}
	return out
}

// runs reports whether so many containers of an object are on an engine, all of them running. A run leaves its stopped
// container, of which people read the logs.
func (c offCase) runs(engine *hollow.Engine, n int) bool {
	stopped := func(one runtime.Container) bool { return one.State != runtime.StateRunning }
	all := c.of(engine)
	if c.kind.HasRuns() {
		all = slices.DeleteFunc(all, stopped)
	}
	return len(all) == n && !slices.ContainsFunc(all, stopped)
}

// all waits until each object has its containers on an engine.
func (w *worker) all(what string, engine *hollow.Engine, cases []offCase, n func(offCase) int) {
	w.r.t.Helper()
	for _, c := range cases {
		w.r.until(fmt.Sprintf("%s: %d of %s", what, n(c), c.ref()), func() bool { return c.runs(engine, n(c)) })
	}
}

// readable returns what people can read about an object: its status with the conditions, and its runs.
func (w *worker) readable(c offCase) string {
	w.r.t.Helper()
	object, err := w.r.client.Object(w.r.t.Context(), c.ref())
	if err != nil {
		w.r.t.Fatal(err)
	}
	text := string(object.Status)
	if c.kind.HasRuns() {
		runs, err := w.r.client.Runs(w.r.t.Context(), client.TargetOf(c.ref()))
		if err != nil {
			w.r.t.Fatal(err)
		}
		all, _ := json.Marshal(runs.Items)
		text += string(all)
	}
	return text
}

// TestConfirmDownOfEveryKind: once a silent machine is said to be off, each of its pods that may run elsewhere does so,
// exactly once; each of the others says why it stays; and the machine stops what was replaced when it answers. Both
// engines are asked, and the machine's containers run all the time.
func TestConfirmDownOfEveryKind(t *testing.T) {
	t.Parallel()
	cases := offCases()
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		if !slices.ContainsFunc(cases, func(c offCase) bool { return c.kind == kind }) {
			t.Errorf("what confirm-down does to a %s is not tested", kind)
		}
	}
	m := newMachine(t)
	listens := loopback()
	r := m.startWith(func(o *Options) {
		o.NodeListen, o.NodeTimeout, o.Heartbeat = listens, 3*nodeTimeout, heartbeat
	}).ready()
	w := &worker{r: r, engine: hollow.NewEngine()}
	t.Cleanup(func() { w.cancel(); w.agent.Wait(); w.engine.Close() })
	m.engine.AddImage("web:1")
	w.engine.AddImage("web:1")
	w.join()
	available := func(to string) {
		t.Helper()
		if _, err := r.client.SetAvailability(t.Context(), "n1", to, false); err != nil {
			t.Fatal(err)
		}
	}
	available(api.NodeCordoned)
	for _, c := range cases {
		if r.declare(c.kind, c.name, c.spec); c.kind.HasRuns() {
			if _, err := r.client.Run(t.Context(), client.TargetOf(c.ref())); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.all("on the machine", w.engine, cases, func(c offCase) int { return c.there })
	before := w.engine.Containers()
	w.stop()
	available(api.NodeActive)
	if _, err := r.client.ConfirmNodeDown(t.Context(), "worker", false); err != nil {
		t.Fatal(err)
	}
	w.all("on the other node", m.engine, cases, func(c offCase) int {
		if c.name == "everywhere" {
			return 1 // its own, since it takes pods
		}
		return c.here
	})
	for _, c := range cases {
		r.until(fmt.Sprintf("%s says %q", c.ref(), c.says), func() bool {
			return c.says == "" || strings.Contains(w.readable(c), c.says)
		})
	}
	if now := w.engine.Containers(); !slices.EqualFunc(before, now,
		func(x, y runtime.Container) bool { return x.ID == y.ID && y.State == runtime.StateRunning }) {
		t.Fatalf("the machine doesn't run on: %+v", now)
	}
	w.join()
	w.all("back on the machine", w.engine, cases, func(c offCase) int { return c.left })
	w.all("still on the other node", m.engine, cases, func(c offCase) int {
		if c.name == "everywhere" {
			return 1
		}
		return c.here
	})
}
