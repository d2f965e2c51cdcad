package agent

import (
	"testing"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// TestServesWhatWasObservedAlone: a status is valid for the incarnation that was observed last, at the same address,
// and as long as no event reported its end.
func TestServesWhatWasObservedAlone(t *testing.T) {
	started := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	observed := runtime.Container{
		ID: "c1", Labels: map[string]string{api.LabelTask: "t1"}, State: runtime.StateRunning,
		Address: "172.18.0.2", StartedAt: started,
	}
	status := api.TaskStatus{ID: "t1", Container: "c1", Address: "172.18.0.2", StartedAt: started}
	with := func(change func(*runtime.Container)) runtime.Container {
		c := observed
		change(&c)
		return c
	}
	cases := map[string]struct {
		reason string
		list   []runtime.Container // from the engine, one after the other
		event  runtime.EventKind
		want   bool
	}{
		"nothing listed": {"the engine has not answered", nil, "", false},
		"as stored":      {"it hasn't changed", []runtime.Container{observed}, "", true},
		"another address": {"the stored one may be another container's",
			[]runtime.Container{with(func(c *runtime.Container) { c.Address = "172.18.0.3" })}, "", false},
		"moved between listings": {
			"even if no event reported it",
			[]runtime.Container{observed, with(func(c *runtime.Container) { c.Address = "172.18.0.3" })}, "", false,
		},
		"started again": {"its probes have yet to pass",
			[]runtime.Container{with(func(c *runtime.Container) { c.StartedAt = started.Add(time.Second) })}, "", false},
		"stopped": {"it does not run",
			[]runtime.Container{with(func(c *runtime.Container) { c.State = runtime.StateExited })}, "", false},
		"another container": {"made again under the same task",
			[]runtime.Container{with(func(c *runtime.Container) { c.ID = "c2" })}, "", false},
		"undescribed": {"the engine says that it runs there, and no more",
			[]runtime.Container{observed, undescribedOf(observed)}, "", true},
		"undescribed and moved": {"another pod may have the stored address", []runtime.Container{observed,
			undescribedOf(with(func(c *runtime.Container) { c.Address = "172.18.0.3" }))}, "", false},
		"its end was reported": {"its address is free from then on", []runtime.Container{observed}, runtime.EventDie, false},
		"its removal was":      {"the same", []runtime.Container{observed}, runtime.EventDestroy, false},
		"an oom was reported":  {"a process of it was killed, not it", []runtime.Container{observed}, runtime.EventOOM, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newContainers(nil, time.Now)
			for i, found := range tc.list {
				c.compare([]runtime.Container{found}, c.mark(), i == 0)
			}
			if tc.event != "" {
				c.recordEvent(runtime.Event{Kind: tc.event, Container: "c1", Task: "t1", At: started.Add(time.Minute)})
			}
			if got := c.serves(status); got != tc.want {
				t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// undescribedOf returns a container as the engine lists it, without what only an inspection says.
func undescribedOf(c runtime.Container) runtime.Container {
	return runtime.Container{ID: c.ID, Labels: c.Labels, State: c.State, Address: c.Address, Undescribed: true}
}

// TestNothingIsDecidedFromAListAlone: a container that the engine fails to inspect, and that is new or has changed, has
// to be inspected first. One that is as it was needs nothing.
func TestNothingIsDecidedFromAListAlone(t *testing.T) {
	running := runtime.Container{ID: "c1", Labels: map[string]string{api.LabelTask: "t1"}, State: runtime.StateRunning,
		StartedAt: time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC), RestartCount: 2}
	ended := running
	ended.State = runtime.StateExited
	for name, tc := range map[string]struct {
		listed   []runtime.Container
		gap      bool
		restarts int
		stale    bool
	}{
		"new":           {[]runtime.Container{undescribedOf(running)}, false, 0, true},
		"as it was":     {[]runtime.Container{running, undescribedOf(running)}, false, 2, false},
		"after a gap":   {[]runtime.Container{running, undescribedOf(running)}, true, 2, true},
		"ended":         {[]runtime.Container{running, undescribedOf(ended)}, false, 2, true},
		"still ended":   {[]runtime.Container{running, undescribedOf(ended), undescribedOf(ended)}, false, 2, true},
		"described now": {[]runtime.Container{undescribedOf(running), running}, false, 2, false},
	} {
		c := newContainers(nil, time.Now)
		for _, found := range tc.listed {
			c.compare([]runtime.Container{found}, c.mark(), tc.gap)
		}
		seen, inspect := c.known("t1")
		if seen == nil || seen.container.RestartCount != tc.restarts || (inspect != "") != tc.stale {
			t.Errorf("%s: %+v, to be inspected: %q", name, seen, inspect)
		}
	}
}

// TestTheIndexOfTasksFollowsTheContainers: the index by task returns what a walk over all containers finds.
func TestTheIndexOfTasksFollowsTheContainers(t *testing.T) {
	c := newContainers(nil, time.Now)
	made := func(id, task string) runtime.Container {
		return runtime.Container{ID: id, Labels: map[string]string{api.LabelTask: task}}
	}
	check := func(when string) {
		t.Helper()
		indexed := 0
		for task, entries := range c.byTask {
			if len(entries) == 0 {
				t.Errorf("%s: task %s has an empty list", when, task)
			}
			for _, e := range entries {
				if indexed++; c.entries[e.container.ID] != e || e.container.Task() != task {
					t.Errorf("%s: %s is listed under %s", when, e.container.ID, task)
				}
			}
		}
		if indexed != len(c.entries) {
			t.Errorf("%s: %d of %d containers are listed", when, indexed, len(c.entries))
		}
	}
	c.put(made("c1", "t1"))
	c.put(made("c2", "t1"))
	c.put(made("c1", "t1"))
	check("made, and made again")
	c.recordEvent(runtime.Event{Kind: runtime.EventCreate, Container: "c3", Task: "t2"})
	c.recordEvent(runtime.Event{Kind: runtime.EventDestroy, Container: "c2", Task: "t1"})
	check("after events")
	c.compare([]runtime.Container{made("c1", "t1"), made("c4", "t4")}, c.mark(), true)
	check("after a list")
	c.remove("c1")
	c.remove("c1")
	check("after a removal")
	if c.ofLocked("t4") == nil || c.ofLocked("t1") != nil {
		t.Error("it finds the wrong ones")
	}
}
