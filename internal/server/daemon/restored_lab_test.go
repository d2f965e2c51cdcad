package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/hollow"
)

// labNamed returns a lab whose image has the lab's name, so that each has a behaviour of its own.
func labNamed(name string, starts time.Time) api.Object {
	spec := api.LabSpec{Owner: "ada@example.org", Duration: "2h"}
	spec.Image = name + ":1"
	if !starts.IsZero() {
		spec.Start = starts.UTC().Format(time.RFC3339)
	}
	raw, _ := json.Marshal(spec) // texts alone
	return api.Object{Kind: api.KindLab, Scope: "school", Name: name, Spec: raw}
}

// lab returns the status of a lab.
func (r *running) lab(name string) (status api.LabStatus) {
	r.t.Helper()
	object, err := r.client.Object(context.Background(), api.Ref{Kind: api.KindLab, Scope: "school", Name: name})
	if err == nil {
		status, err = api.DecodeStatus[api.LabStatus](object)
	}
	if err != nil && !client.IsNotFound(err) {
		r.t.Fatal(err)
	}
	return status
}

// labIs waits until a lab is in a phase for a reason.
func (r *running) labIs(name string, phase api.LabPhase, reason string) (status api.LabStatus) {
	r.t.Helper()
	r.until(fmt.Sprintf("%s is %s because of %s", name, phase, reason), func() bool {
		status = r.lab(name)
		return status.Phase == phase && status.Reason == reason
	})
	return status
}

// TestRestoredLabs: over an older store, a running lab is adopted and keeps its end, and no lab that was due begins by
// itself, whether it is PENDING, between two attempts or RUNNING in the backup: each has run since. A lab whose start
// is still to come waits for it.
func TestRestoredLabs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := newMachine(t)
	var freed atomic.Bool
	m.engine.Behave(func(spec runtime.ContainerSpec) hollow.Behaviour {
		if strings.HasPrefix(spec.Name, "school-failing") && !freed.Load() {
			return hollow.Behaviour{StartError: &runtime.RejectedError{Reason: "PortTaken",
				Detail: "the port is taken", Next: "free it"}}
		}
		return hollow.Behaviour{}
	})
	for _, image := range []string{"runs:1", "ended:1", "failing:1", "later:1"} {
		m.engine.AddImage(image)
	}
	r := m.start(nil).ready()
	labs := []api.Object{
		labNamed("runs", time.Time{}), labNamed("ended", time.Time{}), labNamed("failing", time.Time{}),
		labNamed("waiting", time.Time{}),
		labNamed("later", time.Now().Add(24*time.Hour)),
	}
	if _, err := r.client.Apply(ctx, api.ApplyRequest{Objects: labs}); err != nil {
		t.Fatal(err)
	}
	before := r.labIs("runs", api.LabRunning, api.ReasonRunning)
	r.labIs("ended", api.LabRunning, api.ReasonRunning)
	r.labIs("waiting", api.LabPending, "ImageNotFound")
	r.until("one is between two tries", func() bool {
		pods, err := r.client.Pods(ctx, client.PodFilter{Scope: "school", Name: "failing"})
		return err == nil && len(pods.Items) == 0 && r.lab("failing").Failures > 2
	})
	older := m.backup()

	freed.Store(true)
	m.engine.AddImage("waiting:1")
	for _, name := range []string{"ended", "failing", "waiting"} { // each runs, and ends
		pod := r.labIs(name, api.LabRunning, api.ReasonRunning).Pod
		if err := m.engine.Exit(pod, 0); err != nil {
			t.Fatal(err)
		}
		r.labIs(name, api.LabCompleted, api.ReasonCompleted)
	}
	r.until("one container is left", func() bool { return len(m.engine.Containers()) == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	kept, starts := m.runs(), m.engine.Calls()["start"]

	m.restore(older)
	r = m.start(nil)
	r.wantPaused(0)
	if _, err := r.client.Resume(ctx, ""); err != nil {
		t.Fatal(err)
	}
	r.ready()
	r.labIs("waiting", api.LabPending, api.ReasonRestored)
	r.labIs("failing", api.LabFailed, api.ReasonRestored)
	r.labIs("later", api.LabPending, api.ReasonScheduled)
	r.until("the one whose container is gone has ended", func() bool { return r.lab("ended").Phase.Ended() })
	if s := r.labIs("runs", api.LabRunning, api.ReasonRunning); s.Container != before.Container ||
		!s.EndsAt.Equal(before.EndsAt) {
		t.Errorf("it is %+v, and was %+v", s, before)
	}
	if after := m.runs(); !slices.Equal(kept, after) || m.engine.Calls()["start"] != starts {
		t.Errorf("%d containers were started; %v ran, and %v now", m.engine.Calls()["start"]-starts, kept, after)
	}

	again := labNamed("waiting", time.Now().Add(-time.Minute)) // a user requests it again
	if _, err := r.client.Apply(ctx, api.ApplyRequest{Objects: []api.Object{again}}); err != nil {
		t.Fatal(err)
	}
	r.labIs("waiting", api.LabRunning, api.ReasonRunning)
	if n := m.engine.Calls()["start"] - starts; n != 1 {
		t.Errorf("%d containers were started", n)
	}
}
