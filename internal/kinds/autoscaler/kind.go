package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/autoscale"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store/records"
)

// DefaultInterval is the time between two reconciles of a deployment.
const DefaultInterval = 15 * time.Second

// ErrRefused means that the count can't be set now, because the deployment was changed meanwhile. The next step
// sees the change.
var ErrRefused = errors.New("the deployment was changed meanwhile")

// Options holds the dependencies of the autoscaler, besides those of every kind.
type Options struct {
	// Interval is the time between two reconciles. Default 15 s.
	Interval time.Duration
	// Load returns the CPU use of pods since the last call, in the order of their tasks; 100 is one core. A sample that
	// is not Known has no value.
	Load func(ctx context.Context, tasks []string) []Sample
	// Scale sets the replicas on behalf of the autoscaler. It returns ErrRefused where that is not possible, as for a
	// deployment that was deleted, also if another one has its name now.
	Scale func(ctx context.Context, of Deployment, replicas int) error
	// Holder returns the field manager that took over replicas, or an empty string.
	Holder func(api.Object) string
	// Stepped is called for every step, with "up" or "down". Default: no call.
	Stepped func(direction string)
}

// Deployment names one deployment, and no later one of the same name.
type Deployment struct {
	api.Ref
	UID string
}

// Sample is one pod's use.
type Sample struct {
	CPUPercent float64
	Known      bool
}

// autoscaler decides about deployments.
type autoscaler struct {
	Options
	logger *slog.Logger
}

// The limits of the calls of steps.
const (
	loadTime  = 30 * time.Second
	scaleTime = time.Minute
)

// known is the memo of a step about the deployment that was created at a revision: when its load was measured last, of
// which generation, and the change that has not been answered yet.
type known struct {
	created    int64
	at         time.Time
	generation int64
	pending    *change
}

// change is a change of the replicas, which a status has noted. before is that status without it.
type change struct {
	of            Deployment
	from, to      int
	target        int
	noted, before api.AutoscaleStatus
}

// scaled records the outcome of a change.
type scaled struct {
	change
	refused bool
}

// Kind returns the kind whose subjects are the deployments with an autoscale block, and those that still have a status
// of one.
func Kind(deps control.Deps, o Options) control.Kind {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Stepped == nil {
		o.Stepped = func(string) {}
	}
	a := &autoscaler{Options: o, logger: deps.Defaults().Logger}
	return control.Kind{
		KindInfo: api.KindInfo{Kind: kind}, Keys: subjects, Step: a.step, Call: a.call,
		Failed: func(error) any { return []Sample(nil) },
		// Changes of its pods wait for the next interval.
		Reads: []control.Input{control.Records(func(_ records.Snapshot, _ string, o *api.Object) []api.Ref {
			if o.Kind != api.KindDeployment {
				return nil
			}
			return []api.Ref{Ref(o.Ref())}
		})},
	}
}

const kind = "autoscale"

// Ref returns the subject of a deployment.
func Ref(deployment api.Ref) api.Ref {
	return api.Ref{Kind: kind, Scope: deployment.Scope, Name: deployment.Name}
}

func subjects(s records.Snapshot) (out []api.Ref) {
	for object := range s.Objects(api.KindDeployment) {
		ref := object.Value.Ref()
		if declared(object.Value) != nil || s.AutoscaleStatus(ref).Exists() {
			out = append(out, Ref(ref))
		}
	}
	for record := range s.Prefix(records.AutoscalePrefix) {
		ref, _, ok := records.ParseRef(strings.TrimPrefix(record.Key, records.AutoscalePrefix))
		if ok && !s.Object(ref).Exists() {
			out = append(out, Ref(ref))
		}
	}
	return out
}

// declared returns the deployment's spec if it has an autoscale block and is not being deleted, else nil.
func declared(object *api.Object) *api.DeploymentSpec {
	if object == nil || object.Metadata.Deleting() {
		return nil
	}
	spec, err := api.DecodeSpec[api.DeploymentSpec](*object)
	if err != nil || spec.Autoscale == nil {
		return nil
	}
	return &spec
}

// step decides about one deployment: by its load once it is measured, else when to measure it.
func (a *autoscaler) step(o control.Observation) (control.Step, error) {
	ref := api.Ref{Kind: api.KindDeployment, Scope: o.Ref.Scope, Name: o.Ref.Name}
	object, stored, at := o.Snapshot.Object(ref), o.AutoscaleStatus(ref), records.AutoscaleKey(ref)
	next := control.Step{Guard: at, Txn: records.NewTxn("autoscale")}
	spec := declared(object.Value)
	if spec == nil {
		if stored.Exists() {
			next.Txn.If(at, stored.Modified).Delete(at)
		}
		return next, nil
	}
	write := func(status api.AutoscaleStatus) {
		next.Txn.If(records.ObjectKey(ref), object.Modified).If(at, stored.Modified).Put(at, status)
	}
	memo := control.Recall[known](o)
	if memo.created != object.Created {
		memo = known{created: object.Created}
	}
	load, scale := fmt.Sprint("load ", object.Created), fmt.Sprint("scale ", object.Created)
	if samples, ok := control.Answer[[]Sample](o, load); ok {
		in := a.observe(o.Snapshot, *object.Value, *spec, samples)
		decided := autoscale.Decide(in, o.Now.UTC())
		if decided.Replicas != in.Replicas || autoscale.StatusDue(in.Status, decided.Status) {
			write(decided.Status)
		}
		if decided.Replicas != in.Replicas {
			memo.pending = &change{
				Deployment{ref, object.Value.Metadata.UID}, in.Replicas, decided.Replicas, spec.Autoscale.CPUTarget,
				decided.Status, in.Status,
			}
		}
		memo.at, memo.generation = o.Now, object.Value.Metadata.Generation
	} else if done, ok := control.Answer[scaled](o, scale); ok {
		memo.pending = nil
		differs, err := control.Differs(stored.Value, done.noted)
		if done.refused && err == nil && !differs {
			write(done.takenBack())
		}
	}
	next.Memo = memo
	if memo.pending != nil {
		next.Calls = []control.Call{{Name: scale, Limit: scaleTime, Request: *memo.pending}}
		return next, nil
	}
	if _, scales := o.Going[scale]; scales { // its end leads to the next step
		return next, nil
	}
	if age := o.Now.Sub(memo.at); memo.generation == object.Value.Metadata.Generation && age >= 0 && age < a.Interval {
		next.After = a.Interval - age
		return next, nil
	}
	next.Calls = []control.Call{{Name: load, Limit: loadTime, Request: measurable(o.Snapshot, ref)}}
	return next, nil
}

// takenBack returns the status after a change was refused: nothing was scaled, so no cooldown starts.
func (c change) takenBack() api.AutoscaleStatus {
	status := c.noted
	status.LastUp, status.LastDown, status.Replicas = c.before.LastUp, c.before.LastDown, c.from
	status.Reason, status.Message = api.ReasonRefused, ErrRefused.Error()+"; it is evaluated again"
	return status
}

// call measures the load, or takes a step that was noted in the status.
func (a *autoscaler) call(ctx context.Context, _ records.Read[api.Object], call control.Call) any {
	if tasks, ok := call.Request.([]string); ok {
		return a.Load(ctx, tasks)
	}
	c := call.Request.(change)
	log := a.logger.With("object", c.of.String(), "from", c.from, "to", c.to)
	err := recovery.Call(func() error { return a.Scale(ctx, c.of, c.to) }, "object", c.of.String())
	switch {
	case err == nil:
		direction := "up"
		if c.to < c.from {
			direction = "down"
		}
		a.Stepped(direction)
		log.Info("autoscaled", "cpu", c.noted.CPUPercent, "target", c.target, "pods", c.noted.Pods)
	case !errors.Is(err, ErrRefused):
		log.Warn("not autoscaled; the load is measured again", "error", err)
	}
	return scaled{c, errors.Is(err, ErrRefused)}
}

// observe gathers the input of the decision.
func (a *autoscaler) observe(
	snap records.Snapshot, object api.Object, spec api.DeploymentSpec, samples []Sample,
) autoscale.Input {
	var status api.AutoscaleStatus
	if stored := snap.AutoscaleStatus(object.Ref()); stored.Exists() {
		status = *stored.Value
	}
	in := autoscale.Input{
		Spec: *spec.Autoscale, Generation: object.Metadata.Generation, Owner: a.Holder(object),
		Status: status, Replicas: spec.ReplicaCount(), Rolling: rolling(snap.WorkloadStatus(object.Ref()),
			object.Metadata.Generation),
	}
	if spec.Replicas != nil {
		in.Replicas = *spec.Replicas // as it was set, within the bounds or not
	}
	for _, sample := range samples {
		if sample.Known {
			in.Samples = append(in.Samples, sample.CPUPercent)
		}
	}
	return in
}

// rolling reports whether slots are being filled or replaced, or the newest spec has not been reconciled yet.
func rolling(status records.Read[api.WorkloadStatus], generation int64) bool {
	if !status.Exists() || status.Value.Rollout == nil || status.Value.ObservedGeneration < generation {
		return true
	}
	phase := status.Value.Rollout.Phase
	return phase == api.RolloutProgressing || phase == api.RolloutRollingBack
}

// measurable returns the tasks whose pods run and have been ready since they started. One that was ready and no longer
// is counts too: an overloaded pod often fails its probe.
func measurable(snap records.Snapshot, ref api.Ref) []string {
	var tasks []string
	for _, task := range snap.TasksOf(ref) {
		status := snap.TaskStatus(task.Value.ID)
		if task.Value.Desired != api.DesiredRunning || task.Value.Role != api.RoleMain || !status.Exists() {
			continue
		}
		if s := status.Value; s.State == api.TaskRunning && !s.ReadyAt.IsZero() && !s.ReadyAt.Before(s.StartedAt) {
			tasks = append(tasks, task.Value.ID)
		}
	}
	return tasks
}
