package ingress

import (
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Kind returns the kind of ingresses. A change concerns the ingresses whose host it may decide about, those that a
// changed workload serves (its status says whether it is on its way), and all if a proxy reported, or a node falls
// silent or answers again.
func Kind() control.Kind {
	known := new(claims)
	return control.Kind{
		KindInfo: api.KindIngress.Info(),
		Step:     known.step,
		Reads: []control.Input{
			control.Heartbeats(all), engineSeen,
			control.Records(func(s records.Snapshot, _ string, _ *api.IngressNodeStatus) []api.Ref { return all(s) }),
			control.Records(func(s records.Snapshot, _ string, object *api.Object) []api.Ref {
				return servedBy(s, object.Ref())
			}),
			control.Records(func(s records.Snapshot, _ string,
				task *api.Task) []api.Ref {
				return servedBy(s, task.Owner())
			}),
			control.Records(servedByTask),
			control.Records(func(s records.Snapshot, key string, _ *api.WorkloadStatus) []api.Ref {
				ref, _, _ := records.ParseRef(strings.TrimPrefix(key, records.StatusPrefix))
				return servedBy(s, ref)
			}),
			routedWith, mayMean,
		},
	}
}

// step makes the status.
func (c *claims) step(at control.Observation) (control.Step, error) {
	o, before := observe(at.Snapshot, at.Object, c.of(at.Snapshot)), control.Before[api.IngressStatus](at)
	return control.Step{Status: o.status(before, at.Now), After: o.after(before, at.Now)}, nil
}

// after returns how long an outage still passes as one that may end by itself.
func (o observed) after(before api.IngressStatus, now time.Time) time.Duration {
	o.unreadySince(before.Conditions, now)
	if o.ready > 0 || !o.serves {
		return 0
	}
	left, _ := o.excused()
	return left
}

func all(s records.Snapshot) []api.Ref { return control.Refs(s, api.KindIngress) }

// engineSeen returns all ingresses if the engine of a node has answered its agent for the first time, or has not since
// the agent was started again: see Snapshot.Observed.
func engineSeen(s records.Snapshot, change view.Change) []api.Ref {
	before, _ := change.Old.(*api.NodeStatus)
	after, _ := change.New.(*api.NodeStatus)
	if before == nil || after == nil || before.Observes() == after.Observes() {
		return nil
	}
	return all(s)
}

func servedByTask(s records.Snapshot, _ string, status *api.TaskStatus) []api.Ref {
	task := s.Task(status.ID)
	if !task.Exists() {
		return nil
	}
	return servedBy(s, task.Value.Owner())
}

// routedWith returns the ingresses that share the host of one that changed, as it is and as it was.
func routedWith(s records.Snapshot, change view.Change) []api.Ref {
	var changed []*api.Object
	for _, value := range []any{change.Old, change.New} {
		if object, ok := value.(*api.Object); ok && object != nil && object.Kind == api.KindIngress {
			changed = append(changed, object)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return related(s, changed...)
}

// mayMean returns the ingresses whose service is not there, and that may have meant a workload that comes or goes:
// their status names it.
func mayMean(s records.Snapshot, change view.Change) []api.Ref {
	workload, ok := control.Changed(change).(*api.Object)
	if !ok || !workload.Kind.Serves() || change.Old != nil && change.New != nil {
		return nil
	}
	return whose(s, workload.Scope, func(service string) bool { return suggest.Near(service, workload.Name) })
}

func servedBy(s records.Snapshot, workload api.Ref) []api.Ref {
	if !workload.Kind.Serves() {
		return nil
	}
	return whose(s, workload.Scope, func(service string) bool { return service == workload.Name })
}

// whose returns the ingresses of a scope whose service has a name that is asked for.
func whose(s records.Snapshot, scope string, asked func(service string) bool) (out []api.Ref) {
	for object := range s.ObjectsIn(api.KindIngress, scope) {
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err == nil && asked(spec.ServiceName(object.Value.Name)) {
			out = append(out, object.Value.Ref())
		}
	}
	return out
}
