//go:build integration

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tend.dev/tend/api"
)

// row is a row of the table in docs/use/kinds/deployment.md: what a version costs that fails in one way.
type row struct {
	order, fails string
	probes       []string
	lost, down   string
}

// cell is one case of a row: of how many replicas, how many of them are replaced at once, and how they are probed.
type cell struct {
	name               string
	row                row
	replicas, parallel int
	probes             string
	outside            bool // an ingress serves it
}

func (c cell) String() string {
	return fmt.Sprintf("%s, %s, a new version that %s, %d replicas", c.row.order, c.probes, c.row.fails, c.replicas)
}

// everyCell is set where the tests may take longer: each kind of failure is tried with every probe, with several
// replicas, in statefulsets and from outside.
var everyCell bool

// The ways to fail, as in the table, and what makes the test server fail so.
const (
	exitsAtOnce    = "exits at once"
	dies           = "dies within monitor"
	isNeverReady   = "is never ready"
	readyThenDies  = "is ready, then dies within monitor"
	readyForMoment = "is ready, and within monitor not any more"
)

var failing = map[string]map[string]string{
	exitsAtOnce:    {"EXIT_AFTER": "1ms", "EXIT_CODE": "1"},
	dies:           {"EXIT_AFTER": "1s", "EXIT_CODE": "1"},
	isNeverReady:   {"READY_AFTER": "1h"},
	readyThenDies:  {"READY_AFTER": "200ms", "EXIT_AFTER": "1200ms", "EXIT_CODE": "1"},
	readyForMoment: {"READY_FOR": "2s"},
}

// probing are the cells of the column of probes.
var probing = map[string][]string{
	"any or none":              {"none", "readiness", "image"},
	"readiness or HEALTHCHECK": {"readiness", "image"},
}

// costTable reads the table. A row that no cell can try fails the test, and so does a way to fail that an order lacks.
func costTable(t *testing.T) (rows []row) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/use/kinds/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| order | the new version | with which probe | pods lost | "+
		"a single replica is down for |\n| --- | --- | --- | --- | --- |\n")
	if !found {
		t.Fatal("the page has no such table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		columns := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), "`", ""), " | ")
		if len(columns) != 5 {
			t.Fatalf("%q has %d columns", line, len(columns))
		}
		r := row{strings.TrimPrefix(columns[0], "| "), columns[1], probing[columns[2]], columns[3],
			strings.TrimSuffix(columns[4], " |")}
		if failing[r.fails] == nil || r.probes == nil || !slices.Contains([]string{"0", "max_parallel"}, r.lost) ||
			r.order != api.OrderStartFirst && r.order != api.OrderStopFirst {
			t.Fatalf("no cell tries %q", line)
		}
		seen[r.order+r.fails] = true
		rows = append(rows, r)
	}
	if len(rows) != 2*len(failing) || len(seen) != len(rows) {
		t.Fatalf("the table has %d rows, and %d kinds of failure are known", len(rows), len(failing))
	}
	return rows
}

// cells returns the cells of the table. With several replicas it makes no difference which probe finds the fault, and
// the test of core/rollout has those cells too: here, where each replica costs the engine several containers, only the
// manifest probes them. Where not every cell is tried, each row is, with one replica.
func cells(t *testing.T) (out []cell) {
	add := func(r row, replicas, parallel int, probes string) {
		out = append(out, cell{name: fmt.Sprintf("c%d", len(out)), row: r, replicas: replicas, parallel: parallel,
			probes: probes})
	}
	for _, r := range costTable(t) {
		several := everyCell || r.fails == dies
		for _, probes := range r.probes {
			if several || probes == "readiness" {
				add(r, 1, 1, probes)
			}
		}
		if several {
			add(r, 2, 1, "readiness")
			add(r, 3, 2, "readiness")
		}
	}
	return out
}

// healthz is the URL at which a container checks itself.
const healthz = "http://127.0.0.1:8080/healthz"

// badMonitor is several times the life of a program that dies within it: the program begins later than its container,
// on a busy machine by seconds.
const (
	badMonitor  = 5 * time.Second
	badDeadline = 8 * time.Second
)

// monitor is longer where a probe has to pass, and to fail, within it.
func (c cell) monitor() time.Duration {
	if c.row.fails == readyForMoment {
		return badDeadline
	}
	return badMonitor
}

// checked are images that check themselves, now and then and often.
type checked struct{ rarely, often string }

// manifest returns the cell's object in a good or a bad version.
func (c cell) manifest(m *machine, images checked, bad bool) api.Object {
	return m.manifest(c.name, replicas(c.replicas), func(s *api.DeploymentSpec) {
		s.Strategy = &api.Strategy{Order: c.row.order, MaxParallel: c.parallel, Pause: "0s",
			Monitor: api.Duration(c.monitor().String()), Drain: "0s"}
		s.StopGracePeriod = "1s"
		// An engine that stops what it is about to restart may keep its end of a network for good.
		if s.NetworkMode = "none"; c.outside {
			s.NetworkMode, s.Restart = "", "no"
		}
		moment := c.row.fails == readyForMoment
		switch {
		case c.probes == "image" && moment:
			s.Image = images.often
		case c.probes == "image":
			s.Image = images.rarely
		case c.probes == "readiness":
			probe := api.Probe{Exec: &api.ExecProbe{Command: []string{"/server", "check", healthz}}, Period: "1m", Timeout: "5s"}
			if moment {
				probe.Period, probe.FailureThreshold = "1s", 1
			}
			s.Probes = &api.Probes{Readiness: &probe}
		}
		if bad {
			s.Env = failing[c.row.fails]
			s.Strategy.Deadline = api.Duration(badDeadline.String())
		}
	})
}
