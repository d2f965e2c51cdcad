package cluster

import (
	"context"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/cluster"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Kinds are the rows of the table of controllers.
var Kinds = []control.Kind{
	{KindInfo: api.KindCluster.Info(), New: func(deps control.Deps) control.Controller { return newClusters(deps) }},
	{KindInfo: api.KindApplicationInstance.Info(), New: func(deps control.Deps) control.Controller { return New(deps, api.KindApplicationInstance) }},
	{KindInfo: api.KindOperation.Info(), New: func(deps control.Deps) control.Controller { return New(deps, api.KindOperation) }},
}

// Controller reconciles the objects of a kind that are delivered to clusters.
type Controller struct {
	control.Deps
	kind api.Kind
}

// New returns the controller of a kind.
func New(deps control.Deps, kind api.Kind) *Controller {
	return &Controller{Deps: deps.Defaults(), kind: kind}
}

// Name implements control.Controller.
func (c *Controller) Name() string { return string(c.kind) }

// Keys returns all objects of the kind, and those of which only the status is left.
func (c *Controller) Keys() []engine.Key { return control.KeysAndStatuses(c.Snapshot(), c.kind) }

// Dirty returns the objects for which a reconcile would write something.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	s := c.Snapshot()
	return control.Due(c.Keys(), func(key engine.Key) bool {
		txn, _, err := c.step(s, c.ref(key), now)
		return err != nil || !txn.Empty()
	})
}

// Affected returns the objects that a change may concern: the changed one, one that its cluster reported, or all of a cluster that
// changed.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	switch record := value.(type) {
	case *api.Object:
		if record.Kind == c.kind {
			return []engine.Key{control.Key(record.Ref())}
		}
		if record.Kind == api.KindCluster {
			return c.inCluster(s, record.Name)
		}
	case *api.ClusterReport:
		ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.ActualObjectsPrefix))
		if ok && ref.Kind == c.kind {
			return []engine.Key{control.Key(ref)}
		}
	case *api.ClusterStatus:
		ref, _, _ := records.ParseRef(strings.TrimPrefix(change.Key, records.StatusPrefix))
		return c.inCluster(s, ref.Name)
	}
	return nil
}

func (c *Controller) inCluster(s records.Snapshot, name string) []engine.Key {
	var out []engine.Key
	for _, object := range s.InCluster(name) {
		if object.Value.Kind == c.kind {
			out = append(out, control.Key(object.Value.Ref()))
		}
	}
	return out
}

func (c *Controller) ref(key engine.Key) api.Ref {
	return api.Ref{Kind: c.kind, Scope: key.Scope, Name: key.Name}
}

// Reconcile stores the job and the status of one object, or removes an object that is gone from its cluster.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	ref, now := c.ref(key), c.Now()
	s := c.Snapshot()
	txn, d, err := c.step(s, ref, now)
	if err != nil {
		return engine.Result{}, err
	}
	result := engine.Result{}
	if !d.After.IsZero() {
		result.After = max(d.After.Sub(now), time.Second)
	}
	guard := records.StatusKey(ref)
	if d.Gone {
		guard = records.ObjectKey(ref)
	}
	empty := txn.Empty()
	if result.Revision, err = c.Commit(ctx, txn, guard); err == nil && !empty {
		c.log(s, ref, d)
	}
	return result, err
}

// step returns the commit of one reconcile; it is empty if there is nothing to write.
func (c *Controller) step(s records.Snapshot, ref api.Ref, now time.Time) (*records.Txn, cluster.Decision, error) {
	object := s.Object(ref)
	if !object.Exists() {
		return forget(s, ref), cluster.Decision{}, nil
	}
	name := cluster.ClusterOf(*object.Value)
	job, report := s.ClusterJob(name, ref), s.ClusterReport(ref)
	stored, _ := s.Get(records.StatusKey(ref))
	before, _ := stored.Value.(*api.DeliveredStatus)
	in := cluster.Input{Object: *object.Value, Revision: object.Modified, Job: job.Value, Report: report.Value, Cluster: known(s, name), Now: now}
	if before != nil {
		in.Before = *before
	}
	d, err := cluster.Decide(in)
	if err != nil {
		return nil, d, engine.Terminal(err)
	}
	if d.Gone {
		txn := records.NewTxn(string(ref.Kind)+".finalize").If(records.ObjectKey(ref), object.Modified)
		txn.Delete(records.ObjectKey(ref)).Delete(records.StatusKey(ref)).Delete(records.ClusterJobKey(name, ref)).Delete(records.ClusterReportKey(ref))
		return txn, d, nil
	}
	txn := records.NewTxn(string(ref.Kind) + ".deliver")
	changed, err := control.Differs(before, d.Status)
	if err != nil || !changed {
		return txn, d, err
	}
	txn.If(records.ObjectKey(ref), object.Modified).If(records.StatusKey(ref), stored.Modified).Put(records.StatusKey(ref), d.Status)
	key := records.ClusterJobKey(name, ref)
	switch {
	case d.Job == nil && job.Exists():
		txn.If(key, job.Modified).Delete(key)
	case d.Job != nil && d.Job != job.Value:
		txn.If(key, job.Modified).Put(key, *d.Job)
	}
	return txn, d, nil
}

// Preview returns what would be sent to the cluster for an object, and how the cluster has it otherwise. It implements
// control.Previewer.
func (c *Controller) Preview(s records.Snapshot, object api.Object) ([]api.PlannedAction, error) {
	if object.Kind != c.kind {
		return nil, nil
	}
	name, ref := cluster.ClusterOf(object), object.Ref()
	return cluster.Preview(cluster.Input{
		Object: object, Job: s.ClusterJob(name, ref).Value, Report: s.ClusterReport(ref).Value, Cluster: known(s, name), Now: c.Now(),
	}), nil
}

// forget removes what is left of an object that was removed without its controller.
func forget(s records.Snapshot, ref api.Ref) *records.Txn {
	txn := records.NewTxn(string(ref.Kind) + ".forget")
	if stored, there := s.Get(records.StatusKey(ref)); there {
		txn.If(records.ObjectKey(ref), 0).If(records.StatusKey(ref), stored.Modified).Delete(records.StatusKey(ref)).Delete(records.ClusterReportKey(ref))
		if status, ok := stored.Value.(*api.DeliveredStatus); ok && status.Delivery != nil {
			txn.Delete(records.ClusterJobKey(status.Delivery.Cluster, ref))
		}
	}
	return txn
}

// known returns what is known of a cluster.
func known(s records.Snapshot, name string) cluster.Known {
	k := cluster.Known{Name: name}
	object := s.Cluster(name)
	if !object.Exists() {
		return k
	}
	k.Declared = true
	k.Spec, _ = api.DecodeSpec[api.ClusterSpec](*object.Value) // it was validated when it was applied
	if access := s.ClusterAccess(name); access.Exists() && access.Value.UID == object.Value.Metadata.UID {
		k.Registered = access.Value.Token != nil
	}
	if status := s.ClusterStatus(name); status.Exists() {
		k.Connected = api.FindCondition(status.Value.Conditions, cluster.ConditionConnected)
	}
	return k
}

// log logs a delivery that ended otherwise than before.
func (c *Controller) log(s records.Snapshot, ref api.Ref, d cluster.Decision) {
	log := c.Logger.With("object", ref.String())
	if d.Gone {
		log.Info("deleted")
		return
	}
	stored, _ := s.Get(records.StatusKey(ref))
	before, _ := stored.Value.(*api.DeliveredStatus)
	is := d.Status.Delivery
	if is == nil || is.Outcome == "" || before != nil && before.Delivery != nil && before.Delivery.Job == is.Job && before.Delivery.Outcome == is.Outcome {
		return
	}
	if is.Error != "" {
		log.Warn("delivery ended", "kubernetes", is.Cluster, "generation", is.Generation, "attempts", is.Attempt, "outcome", is.Outcome, "error", is.Error)
		return
	}
	log.Info("delivery ended", "kubernetes", is.Cluster, "generation", is.Generation, "attempts", is.Attempt, "outcome", is.Outcome)
}
