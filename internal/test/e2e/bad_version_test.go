//go:build integration

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// checkedImage makes the test server with a HEALTHCHECK. Each attempt costs the engine a process, so they are rare
// unless options say otherwise.
func (m *machine) checkedImage(command, options string) string {
	m.Helper()
	dir, tag := m.TempDir(), "tendtest-"+random()+"/checked:v1"
	text := fmt.Sprintf("FROM %s\nHEALTHCHECK %s --timeout=10s CMD %s\n", image("v1"), options, command)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o644); err != nil {
		m.Fatal(err)
	}
	m.engine("build", "--quiet", "--tag", tag, dir).must()
	m.afterwards(func() { m.engine("rmi", tag).ignored() })
	return tag
}

const rarely = "--interval=5s --retries=2"

// TestABadVersionCostsAStep walks every cell of the table, those of an order at once: a good version, then a bad one.
// What it costs is read from the engine's events alone: which containers of the good version ran when.
func TestABadVersionCostsAStep(t *testing.T) {
	all := cells(t)
	m := newMachine(t).start()
	check := fmt.Sprintf("[%q, %q, %q]", "/server", "check", healthz)
	images := checked{m.checkedImage(check, rarely), m.checkedImage(check, "--interval=1s --retries=1")}
	second := slices.IndexFunc(all, func(c cell) bool { return c.row.order != all[0].row.order })
	m.costsAStep(images, all[:second])
	m.costsAStep(images, all[second:])
}

// TestABadVersionCostsASetAStep walks the rows of the table that a statefulset has: it replaces ordinals one by one.
func TestABadVersionCostsASetAStep(t *testing.T) {
	var all []cell
	for _, r := range costTable(t) {
		if r.order == api.OrderStopFirst && (everyCell || r.fails == dies || r.fails == isNeverReady) {
			all = append(all, cell{name: fmt.Sprintf("s%d", len(all)), row: r, replicas: 3, parallel: 1, probes: "readiness"})
		}
	}
	newSets(t).costsAStep(checked{}, all)
}

func (m *machine) costsAStep(images checked, cells []cell) {
	m.applyCells(images, cells, false)
	for _, c := range cells {
		m.converged(c.name, 0)
	}
	h := m.follow()
	began := time.Now()
	m.applyCells(images, cells, true)
	for _, c := range cells {
		m.until(fmt.Sprintf("%+v has failed", c), func() bool { return c.over(h) })
	}
	h.caughtUp()
	for _, c := range cells {
		lost, down := c.cost(h, began)
		want := map[string]int{"0": 0, "max_parallel": min(c.parallel, c.replicas)}[c.row.lost]
		m.Logf("%s, %d at once: %d lost, down for %s", c, c.parallel, lost, down.Round(100*time.Millisecond))
		if lost != want {
			m.Errorf("%s: %d pods of the good version were lost at once, the table says %d", c, lost, want)
		}
		if lasts := c.row.down != "0 s" && c.replicas == 1; lasts != (down > 0) {
			m.Errorf("%s: it was down for %s, the table says %s", c, down, c.row.down)
		}
	}
}

// applyCells applies a good or a bad version of every cell.
func (m *machine) applyCells(images checked, cells []cell, bad bool) {
	m.Helper()
	request := api.ApplyRequest{}
	for _, c := range cells {
		request.Objects = append(request.Objects, c.manifest(m, images, bad))
	}
	if _, err := m.client.Apply(m.Context(), request); err != nil {
		m.Fatal(err)
	}
}

// over reports whether the bad version has failed: it ended three times, or it was not ready by its deadline; and the
// good version runs again wherever it had to stop.
func (c cell) over(h *history) bool {
	ends, back := 0, false
	var started time.Time
	for _, event := range h.of(c.name) {
		bad, start := event.Actor.Attributes["tend.release"] != "v1", event.Action == "start"
		switch at := time.Unix(0, event.TimeNano); {
		case bad && start && started.IsZero():
			started = at
		case bad && !start:
			ends++
		case !bad && start:
			back = true
		}
	}
	if c.row.order == api.OrderStopFirst {
		return back
	}
	return ends >= 3 || !started.IsZero() && time.Since(started) > badDeadline+c.monitor()
}

// cost returns the most containers of the good version that were gone at once, and for how long all of them were.
func (c cell) cost(h *history, began time.Time) (lost int, down time.Duration) {
	gone := map[string]bool{} // of the pods that ran in the beginning
	more := map[string]bool{} // that came back
	since := began
	for _, event := range h.of(c.name) {
		if event.Actor.Attributes["tend.release"] != "v1" {
			continue
		}
		at, id := time.Unix(0, event.TimeNano), event.Actor.ID
		if len(gone) == c.replicas && len(more) == 0 {
			down += at.Sub(since)
		}
		since = at
		switch {
		case event.Action == "start":
			more[id] = true
		case more[id]:
			delete(more, id)
		default:
			gone[id] = true
		}
		lost = max(lost, len(gone)-len(more))
	}
	if len(gone) == c.replicas && len(more) == 0 {
		down += time.Since(since)
	}
	return lost, down
}

// of returns the events of an object's containers.
func (h *history) of(name string) (out []engineEvent) {
	for _, event := range h.all() {
		if event.Actor.Attributes["tend.name"] == name {
			out = append(out, event)
		}
	}
	return out
}

// TestTheImagesHealthcheckHoldsARollout: the image's own check always fails. The pod that serves isn't replaced, and
// apply says why, in the words of the check. An empty block of probes switches it off.
func TestTheImagesHealthcheckHoldsARollout(t *testing.T) {
	m := newMachine(t).start()
	m.deploy(m.manifest("app"))
	before := m.containers("app")
	sick := m.checkedImage(`["/server", "check", "http://127.0.0.1:8080/nothing-here"]`, rarely)
	late := "5m" // until the check has answered, however long the container takes
	bad := func(s *api.DeploymentSpec) { s.Image, s.Strategy.Deadline = sick, api.Duration(late) }
	if _, err := m.client.Apply(t.Context(), api.ApplyRequest{Objects: []api.Object{m.manifest("app", bad)}}); err != nil {
		t.Fatal(err)
	}
	m.until("the check has answered", func() bool {
		return slices.ContainsFunc(m.pods("app"),
			func(p api.Pod) bool { return strings.Contains(p.Message, "404 page not found") })
	})
	late = "4s"
	file := m.file("sick.json", string(mustJSON(t, m.manifest("app", bad))))
	m.wantSaid(m.tend("apply", "-f", file), 2, "readiness (image): ",
		" ended with exit code 1: 404 404 page not found",
		"not ready within 4s")
	if now := m.containers("app"); len(now) != 2 || !slices.Contains(now, before[0]) {
		t.Errorf("the containers are %v, %v served before", now, before)
	}
	for _, pod := range m.pods("app") {
		if pod.Release == "v2" {
			m.wantSaid(m.tend("describe", pod.Name), 0, "(source: image)", "404 page not found")
		}
	}
	m.deploy(m.manifest("app", bad, func(s *api.DeploymentSpec) { s.Probes = &api.Probes{} }))
	if pods := m.pods("app"); len(pods) != 1 || pods[0].Release != "v3" || !pods[0].Ready {
		t.Errorf("with its check switched off: %+v", pods)
	}
}

// TestAWrongPortIsNamed: while apply waits, it prints the answer of the failing probe, and the port on which the
// program listens instead. Before that, diff shows what a bad release would cost.
func TestAWrongPortIsNamed(t *testing.T) {
	m := newMachine(t).start()
	stopFirst := func(s *api.DeploymentSpec) { s.Strategy.Order = api.OrderStopFirst }
	m.deploy(m.manifest("app", stopFirst))
	wrong := m.file("wrong.json", string(mustJSON(t, m.manifest("app", stopFirst, func(s *api.DeploymentSpec) {
		s.Probes = &api.Probes{Readiness: &api.Probe{HTTPGet: &api.HTTPGet{Path: "/ready", Port: 80}}}
		s.Strategy.Deadline = "15s" // for a container that a busy machine is slow to create
	}))))
	m.wantSaid(m.tend("diff", "-f", wrong), 0,
		"1 replica, stop-first: a bad release is an outage of up to 15s (strategy.deadline), until v1 is back")
	m.wantSaid(m.tend("apply", "-f", wrong), 2, "running (Unready): still starting; readiness: :80 refuses connections",
		"the program listens on 8080",
		"rolled back: v2 failed, back on v1: not ready within 15s")
	m.until("the good version serves again",
		func() bool { return len(m.running("app")) == 1 && m.status("app").Ready == 1 })
}

// TestWhatKeepsDyingIsNeverWell: a program that dies every three seconds outlives a monitor time of one. It counts as
// well once, before its first end, and never again: neither between its ends, nor in the pod that replaces it.
func TestWhatKeepsDyingIsNeverWell(t *testing.T) {
	m := newMachine(t).start()
	h := m.follow()
	object := m.manifest("app", watched("1s"),
		func(s *api.DeploymentSpec) { s.Env = map[string]string{"EXIT_AFTER": "3s", "EXIT_CODE": "7"} })
	m.deploy(object)
	ends := func() (n int) {
		for _, event := range h.of("app") {
			if event.Action == "die" {
				n++
			}
		}
		return n
	}
	m.until("its first end is seen", func() bool { return ends() > 0 && !isTrue(m.status("app"), api.ConditionReady) })
	m.until("it ended seven times, in two pods", func() bool {
		if status := m.status("app"); isTrue(status, api.ConditionReady) {
			t.Fatalf("it is said to be well after %d ends: %+v", ends(), status)
		}
		return ends() >= 7
	})
	file := m.file("dies.json", string(mustJSON(t, object)))
	m.wantSaid(m.tend("apply", "-f", file), 2, "the program keeps exiting", "exit code 7")
}
