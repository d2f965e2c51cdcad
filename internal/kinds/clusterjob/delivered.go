package clusterjob

import (
	"log/slog"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/clusterjob"
	"tend.dev/tend/internal/reconciler"
	"tend.dev/tend/internal/store/records"
)

// step stores the job and the status of an object, or removes one that is gone from its cluster.
func step(o control.Observation) (control.Step, error) {
	name, ref := clusterjob.ClusterOf(*o.Object.Value), o.Ref
	job, before := o.ClusterJob(name, ref), control.Before[api.DeliveredStatus](o)
	d, err := clusterjob.Decide(clusterjob.Input{
		Object: *o.Object.Value, Revision: o.Object.Modified, Job: job.Value, Report: o.ClusterReport(ref).Value,
		Cluster: known(o.Snapshot, name), Releases: kept(o), Before: before, Now: o.Now,
	})
	if err != nil {
		return control.Step{}, reconciler.Terminal(err)
	}
	key := records.ClusterJobKey(name, ref)
	if d.Gone {
		guard := records.ObjectKey(ref)
		txn := records.NewTxn(string(ref.Kind) + ".finalize")
		txn.Delete(guard).Delete(records.StatusKey(ref)).Delete(key).Delete(records.ClusterReportKey(ref))
		for _, release := range kept(o) {
			txn.Delete(records.ReleaseKey(ref, release.ID))
		}
		return control.Step{Txn: txn, Guard: guard, Removes: true}, nil
	}
	txn := records.NewTxn(string(ref.Kind) + ".deliver")
	switch {
	case d.Job == nil && job.Exists():
		txn.If(key, job.Modified).Delete(key)
	case d.Job != nil && d.Job != job.Value:
		txn.If(key, job.Modified).Put(key, *d.Job)
	}
	if d.Release != nil {
		made := records.ReleaseKey(ref, d.Release.ID)
		txn.If(made, 0).Put(made, *d.Release)
	}
	for _, id := range d.Surplus {
		txn.Delete(records.ReleaseKey(ref, id))
	}
	next := control.Step{
		Txn: txn, Status: d.Status, Actions: d.Actions, Log: ended(before.Delivery, d.Status.Delivery),
	}
	if o.DryRun {
		next.Actions = append(next.Actions, d.Ahead...)
	}
	if !d.After.IsZero() {
		next.After = max(d.After.Sub(o.Now), time.Second)
	}
	return next, nil
}

// forget deletes what is left of an object that was removed without its controller.
func forget(o control.Observation) (control.Step, error) {
	keys := []string{records.ClusterReportKey(o.Ref)}
	if status := control.Before[api.DeliveredStatus](o); status.Delivery != nil {
		keys = append(keys, records.ClusterJobKey(status.Delivery.Cluster, o.Ref))
	}
	for _, release := range kept(o) {
		keys = append(keys, records.ReleaseKey(o.Ref, release.ID))
	}
	return control.Forget(o, keys...), nil
}

// kept returns the releases of an object, oldest first.
func kept(o control.Observation) (out []api.Release) {
	for _, release := range o.Releases(o.Ref) {
		out = append(out, *release.Value)
	}
	return out
}

// known returns what is known of a cluster.
func known(s records.Snapshot, name string) clusterjob.Known {
	k := clusterjob.Known{Name: name}
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
		k.Connected = api.FindCondition(status.Value.Conditions, clusterjob.ConditionConnected)
	}
	return k
}

// ended returns what logs a delivery that ended otherwise than before; nil if it did not.
func ended(before, is *api.DeliveryStatus) func(*slog.Logger) {
	if is == nil || is.Outcome == "" || before != nil && before.Job == is.Job && before.Outcome == is.Outcome {
		return nil
	}
	return func(log *slog.Logger) {
		log = log.With("kubernetes", is.Cluster, "generation", is.Generation, "attempts", is.Attempt, "outcome",
			is.Outcome)
		if is.Error != "" {
			log.Warn("delivery ended", "error", is.Error)
			return
		}
		log.Info("delivery ended")
	}
}
