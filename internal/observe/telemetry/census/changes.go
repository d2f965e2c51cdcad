package census

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// changes counts the changes that a view reports.
type changes struct {
	transitions *prometheus.CounterVec
	cleanups    *prometheus.CounterVec
	rollout     *prometheus.HistogramVec
}

// cleaned maps the prefix of a record in the store to its name, for records whose deletion is a cleanup.
var cleaned = map[string]string{
	records.TasksPrefix: "task", records.ReleasesPrefix: "release", records.RunsPrefix: "run",
	records.DeliveriesPrefix: "delivery", records.DesiredPrefix: "object",
}

// moves are the states that each record may move to. Their series start at 0.
var moves = map[string][]string{
	"pod": texts(api.TaskPending, api.TaskAssigned, api.TaskAccepted, api.TaskPreparing, api.TaskStarting, api.TaskRunning,
		api.TaskComplete, api.TaskFailed, api.TaskRejected, api.TaskShutdown),
	"run":     texts(api.RunPending, api.RunRunning, api.RunSucceeded, api.RunFailed, api.RunReplaced),
	"lab":     texts(api.LabPending, api.LabProvisioning, api.LabRunning, api.LabCompleted, api.LabFailed, api.LabTimeout),
	"rollout": texts(api.RolloutProgressing, api.RolloutComplete, api.RolloutPaused, api.RolloutRollingBack, api.RolloutRolledBack),
}

func texts[T ~string](states ...T) (out []string) {
	for _, state := range states {
		out = append(out, string(state))
	}
	return out
}

// Register registers the metrics of a view and counts until remove is called.
func Register(registry prometheus.Registerer, v *view.View) (remove func()) {
	c := &changes{
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_state_transitions_total", Help: "Changes of the state of a pod, a run, a lab or a rollout, by the state it has now.",
		}, []string{"record", "state"}),
		cleanups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tend_cleanup_operations_total", Help: "Records that were deleted because nothing needs them any more.",
		}, []string{"record"}),
		rollout: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tend_rollout_duration_seconds", Help: "Time from the beginning of a rollout to its end, by the phase it ended in.",
			Buckets: prometheus.ExponentialBuckets(0.25, 3, 10), // 250 ms to 82 min
		}, []string{"kind", "phase"}),
	}
	for _, record := range cleaned {
		c.cleanups.WithLabelValues(record)
	}
	for record, to := range moves {
		for _, state := range to {
			c.transitions.WithLabelValues(record, state)
		}
	}
	states := newStates(func() records.Snapshot { return records.Snapshot{Reader: v.Snapshot()} })
	registry.MustRegister(c.transitions, c.cleanups, c.rollout, states)
	return v.OnChange(c.observe)
}

func (c *changes) observe(change view.Change) {
	if change.Deleted {
		first, _, _ := strings.Cut(strings.TrimPrefix(change.Key, "/"), "/")
		if record := cleaned["/"+first+"/"]; record != "" {
			c.cleanups.WithLabelValues(record).Inc()
		}
		return
	}
	switch now := change.New.(type) {
	case *api.TaskStatus:
		before, _ := change.Old.(*api.TaskStatus)
		c.countMove("pod", string(now.State), before != nil && before.State == now.State)
	case *api.Run:
		before, _ := change.Old.(*api.Run)
		c.countMove("run", string(now.State), before != nil && before.State == now.State)
	case *api.LabStatus:
		before, _ := change.Old.(*api.LabStatus)
		c.countMove("lab", string(now.Phase), before != nil && before.Phase == now.Phase)
	case *api.WorkloadStatus:
		before, _ := change.Old.(*api.WorkloadStatus)
		c.countRollout(change.Key, rolloutOf(before), rolloutOf(now))
	}
}

func (c *changes) countMove(record, state string, same bool) {
	if !same && state != "" {
		c.transitions.WithLabelValues(record, state).Inc()
	}
}

func rolloutOf(status *api.WorkloadStatus) (none api.RolloutStatus) {
	if status == nil || status.Rollout == nil {
		return none
	}
	return *status.Rollout
}

// countRollout counts a change of a rollout's phase, and times a rollout that ended.
func (c *changes) countRollout(key string, before, now api.RolloutStatus) {
	c.countMove("rollout", string(now.Phase), before.Phase == now.Phase)
	if before.StartedAt.IsZero() || !before.EndedAt.IsZero() || now.EndedAt.IsZero() {
		return
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(key, records.StatusPrefix), "/")
	c.rollout.WithLabelValues(kind, string(now.Phase)).Observe(now.EndedAt.Sub(now.StartedAt).Seconds())
}
