package census

import (
	"cmp"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// series holds the label values of one series. An unused one is empty.
type series struct{ a, b string }

// family holds the series of one gauge, and the number of their labels.
type family struct {
	desc   *prometheus.Desc
	counts map[series]int
	labels int
}

// states counts the records of a snapshot when it is scraped, once per revision.
type states struct {
	snapshot                     func() records.Snapshot
	pods, ready, nodes, rollouts *prometheus.Desc

	mu       sync.Mutex
	revision int64
	counted  []family
}

func newStates(snapshot func() records.Snapshot) *states {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &states{
		snapshot: snapshot,
		pods:     desc("tend_pods", "Pods by the kind of their object and their state.", "kind", "state"),
		ready:    desc("tend_pods_ready", "Pods that run and whose probes pass, by the kind of their object.", "kind"),
		nodes:    desc("tend_nodes", "Nodes by state and availability.", "state", "availability"),
		rollouts: desc("tend_rollouts", "Deployments and statefulsets by the phase of their newest rollout.", "kind", "phase"),
	}
}

// Describe implements prometheus.Collector.
func (c *states) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.pods, c.ready, c.nodes, c.rollouts} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *states) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.snapshot(); c.counted == nil || s.Revision() != c.revision {
		pods, ready := countPods(s)
		c.revision, c.counted = s.Revision(), []family{
			{desc: c.pods, counts: pods, labels: 2}, {desc: c.ready, counts: ready, labels: 1},
			{desc: c.nodes, counts: countNodes(s), labels: 2}, {desc: c.rollouts, counts: countRollouts(s), labels: 2},
		}
	}
	for _, f := range c.counted {
		for at, n := range f.counts {
			out <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, float64(n), []string{at.a, at.b}[:f.labels]...)
		}
	}
}

// zeros returns a series of 0 for each pair, so an alert can tell 0 from a server that doesn't answer.
func zeros(a, b []string) map[series]int {
	out := map[series]int{}
	for _, x := range a {
		for _, y := range b {
			out[series{x, y}] = 0
		}
	}
	return out
}

// countPods counts all pods by state, and the ready ones.
func countPods(s records.Snapshot) (pods, ready map[series]int) {
	pods, ready = map[series]int{}, map[series]int{}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		ready[series{a: string(kind)}] = 0
	}
	for _, task := range s.Tasks() {
		if task.Value.Leftover {
			continue // another task has taken its slot
		}
		kind, state := string(task.Value.Kind), api.TaskPending
		if task.Value.Node != "" {
			state = api.TaskAssigned
		}
		if status := s.TaskStatus(task.Value.ID).Value; status != nil && status.State != "" {
			state = status.State
			if status.Ready {
				ready[series{a: kind}]++
			}
		}
		pods[series{kind, string(state)}]++
	}
	return pods, ready
}

func countNodes(s records.Snapshot) map[series]int {
	out := zeros([]string{"ready", "unready", "down"}, []string{api.NodeActive, api.NodeCordoned, api.NodeDrained})
	for _, node := range s.Nodes() {
		state, availability := "down", s.NodeSpec(node.Value.ID).Availability
		if s.Alive(node.Value.ID) {
			if state = "unready"; node.Value.Ready {
				state = "ready"
			}
		}
		availability = cmp.Or(availability, api.NodeActive)
		out[series{state, availability}]++
	}
	return out
}

func countRollouts(s records.Snapshot) map[series]int {
	kinds := api.KindsThat(api.Kind.HasSlots)
	out := map[series]int{}
	for _, kind := range kinds {
		for _, phase := range []api.RolloutPhase{
			api.RolloutProgressing, api.RolloutComplete, api.RolloutPaused, api.RolloutRollingBack, api.RolloutRolledBack,
		} {
			out[series{string(kind), string(phase)}] = 0
		}
		for object := range s.Objects(kind) {
			if status := s.WorkloadStatus(object.Value.Ref()).Value; rolloutOf(status).Phase != "" {
				out[series{string(kind), string(rolloutOf(status).Phase)}]++
			}
		}
	}
	return out
}
