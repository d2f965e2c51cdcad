package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/autoscale"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Kind is the kind of the autoscaler's keys.
const Kind = "autoscale"

// DefaultInterval is the time between two reconciles of a deployment.
const DefaultInterval = 15 * time.Second

// ErrRefused means that the count can't be set now, because the deployment was changed meanwhile. The next reconcile
// sees the change.
var ErrRefused = errors.New("the deployment was changed meanwhile")

// Options are what the autoscaler needs besides the dependencies of every controller.
type Options struct {
	// Interval is the time between two reconciles. Default 15 s.
	Interval time.Duration
	// Load returns the CPU use of pods since the last call, in the order of their tasks; 100 is one core. A sample that
	// is not Known has no value.
	Load func(ctx context.Context, tasks []string) []Sample
	// Scale sets the replicas on behalf of the autoscaler. It returns ErrRefused where that is not possible.
	Scale func(ctx context.Context, ref api.Ref, replicas int) error
	// Holder returns the field manager that took over replicas, or an empty string.
	Holder func(api.Object) string
	// Stepped is called for every step, with "up" or "down". Default: no call.
	Stepped func(direction string)
}

// Sample is one pod's use.
type Sample struct {
	CPUPercent float64
	Known      bool
}

// Autoscaler is the controller.
type Autoscaler struct {
	control.Deps
	Options
}

// New returns an Autoscaler.
func New(deps control.Deps, o Options) *Autoscaler {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Stepped == nil {
		o.Stepped = func(string) {}
	}
	return &Autoscaler{Deps: deps.Defaults(), Options: o}
}

// Key returns the key of a deployment.
func Key(ref api.Ref) engine.Key { return engine.Key{Kind: Kind, Scope: ref.Scope, Name: ref.Name} }

func refOf(key engine.Key) api.Ref {
	return api.Ref{Kind: api.KindDeployment, Scope: key.Scope, Name: key.Name}
}

// Name implements control.Controller.
func (a *Autoscaler) Name() string { return Kind }

// Dirty returns nothing: each key requeues itself after the interval.
func (a *Autoscaler) Dirty(time.Time) []engine.Key { return nil }

// Keys returns the deployments with an autoscale block, and those that still have a status of one.
func (a *Autoscaler) Keys() []engine.Key {
	snap := a.Snapshot()
	var keys []engine.Key
	for object := range snap.Objects(api.KindDeployment) {
		ref := object.Value.Ref()
		if scaled(object.Value) != nil || snap.AutoscaleStatus(ref).Exists() {
			keys = append(keys, Key(ref))
		}
	}
	for record := range snap.Prefix(records.AutoscalePrefix) {
		ref, _, ok := records.ParseRef(strings.TrimPrefix(record.Key, records.AutoscalePrefix))
		if ok && !snap.Object(ref).Exists() {
			keys = append(keys, Key(ref))
		}
	}
	return keys
}

// Affected returns the deployment that changed. Changes of its pods wait for the next interval.
func (a *Autoscaler) Affected(_ records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	if object, ok := value.(*api.Object); ok && object.Kind == api.KindDeployment {
		return []engine.Key{Key(object.Ref())}
	}
	return nil
}

// scaled returns the deployment's spec if it has an autoscale block and is not being deleted, else nil.
func scaled(object *api.Object) *api.DeploymentSpec {
	if object == nil || object.Metadata.Deleting() {
		return nil
	}
	spec, err := api.DecodeSpec[api.DeploymentSpec](*object)
	if err != nil || spec.Autoscale == nil {
		return nil
	}
	return &spec
}

// Reconcile reconciles one deployment.
func (a *Autoscaler) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	snap, ref := a.Snapshot(), refOf(key)
	object, stored := snap.Object(ref), snap.AutoscaleStatus(ref)
	spec := scaled(object.Value)
	if spec == nil {
		return a.forget(ctx, ref, stored)
	}
	in := a.observe(ctx, snap, *object.Value, *spec)
	if stored.Exists() {
		in.Status = *stored.Value
	}
	decided := autoscale.Decide(in, a.Now().UTC())
	result := engine.Result{After: a.Interval}
	if decided.Replicas != in.Replicas || autoscale.StatusDue(in.Status, decided.Status) {
		revision, err := a.writeStatus(ctx, ref, object, stored, decided.Status)
		if err != nil {
			return result, err
		}
		result.Revision = revision
	}
	if decided.Replicas == in.Replicas {
		return result, nil
	}
	err := a.step(ctx, ref, in, decided)
	if errors.Is(err, ErrRefused) {
		result.Revision, err = a.takeBack(ctx, ref, result.Revision, in, decided.Status)
	}
	return result, err
}

// observe gathers the input of the decision.
func (a *Autoscaler) observe(ctx context.Context, snap records.Snapshot, object api.Object,
	spec api.DeploymentSpec) autoscale.Input {
	in := autoscale.Input{
		Spec: *spec.Autoscale, Generation: object.Metadata.Generation, Owner: a.Holder(object),
		Replicas: spec.ReplicaCount(), Rolling: rolling(snap.WorkloadStatus(object.Ref()), object.Metadata.Generation),
	}
	if spec.Replicas != nil {
		in.Replicas = *spec.Replicas // as it was set, within the bounds or not
	}
	for _, sample := range a.Load(ctx, measurable(snap, object.Ref())) {
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

// writeStatus writes the status, on the condition that the deployment is as it was read.
func (a *Autoscaler) writeStatus(ctx context.Context, ref api.Ref, object records.Read[api.Object],
	stored records.Read[api.AutoscaleStatus], status api.AutoscaleStatus,
) (int64, error) {
	key := records.AutoscaleKey(ref)
	return a.Commit(ctx, records.NewTxn("autoscale").If(records.ObjectKey(ref), object.Modified).If(key,
		stored.Modified).
		Put(key, status), key)
}

// takeBack corrects the noted status after a step was refused: nothing was scaled, so no cooldown starts. The change
// that made the step fail has already requeued the key.
func (a *Autoscaler) takeBack(ctx context.Context, ref api.Ref, noted int64, in autoscale.Input,
	status api.AutoscaleStatus) (int64, error) {
	status.LastUp, status.LastDown, status.Replicas = in.Status.LastUp, in.Status.LastDown, in.Replicas
	status.Reason, status.Message = api.ReasonRefused, ErrRefused.Error()+"; it is evaluated again"
	key := records.AutoscaleKey(ref)
	return a.Commit(ctx, records.NewTxn("autoscale.back").If(key, noted).Put(key, status), key)
}

// step takes the step that was noted in the status.
func (a *Autoscaler) step(ctx context.Context, ref api.Ref, in autoscale.Input, decided autoscale.Decision) error {
	err := a.Scale(ctx, ref, decided.Replicas)
	if err != nil {
		return fmt.Errorf("scale %s to %d: %w", ref, decided.Replicas, err)
	}
	direction := "up"
	if decided.Replicas < in.Replicas {
		direction = "down"
	}
	a.Stepped(direction)
	a.Logger.Info("autoscaled", "object", ref.String(), "from", in.Replicas, "to", decided.Replicas,
		"cpu", decided.Status.CPUPercent, "target", in.Spec.CPUTarget, "pods", len(in.Samples))
	return nil
}

// forget removes the status of a deployment that is no longer autoscaled.
func (a *Autoscaler) forget(ctx context.Context, ref api.Ref, stored records.Read[api.AutoscaleStatus]) (engine.Result,
	error) {
	if !stored.Exists() {
		return engine.Result{}, nil
	}
	key := records.AutoscaleKey(ref)
	revision, err := a.Commit(ctx, records.NewTxn("autoscale.forget").If(key, stored.Modified).Delete(key), key)
	return engine.Result{Revision: revision}, err
}
