package ingress

import (
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Controller reconciles ingresses.
type Controller struct {
	control.Reporter[api.IngressStatus]
}

// Kind is the row of the ingress in the table of controllers.
var Kind = control.Kind{
	KindInfo: api.KindIngress.Info(),
	New:      func(deps control.Deps) control.Controller { return New(deps) },
}

// New returns the controller of ingresses.
func New(deps control.Deps) *Controller {
	known := new(claims)
	return &Controller{control.Reporter[api.IngressStatus]{Deps: deps.Defaults(), Kind: api.KindIngress, Status: known.status, After: known.after}}
}

// after returns how long an outage still passes as one that may end by itself.
func (c *claims) after(s records.Snapshot, object records.Read[api.Object], now time.Time) time.Duration {
	o := observe(s, object, c.of(s))
	if status := s.IngressStatus(object.Value.Ref()).Value; status != nil {
		o.unreadySince(status.Conditions, now)
	}
	if o.ready > 0 || !o.serves {
		return 0
	}
	left, _ := o.excused()
	return left
}

func (c *claims) status(s records.Snapshot, object records.Read[api.Object], before api.IngressStatus, now time.Time) api.IngressStatus {
	return observe(s, object, c.of(s)).status(before, now)
}

// Affected returns the ingresses a change may concern: the changed one and those whose host it may decide about, those
// that a changed workload serves (its status says whether it is on its way), or all if a proxy reported, or a node is silent or answers again.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	if strings.HasPrefix(change.Key, records.AlivePrefix) && (change.Old == nil || change.Deleted) {
		return control.Keys(s, api.KindIngress)
	}
	switch record := value.(type) {
	case *api.Object:
		if record.Kind == api.KindIngress {
			return routedWith(s, change)
		}
		return append(servedBy(s, record.Ref()), mayMean(s, record.Ref(), change)...)
	case *api.Task:
		return servedBy(s, record.Owner())
	case *api.TaskStatus:
		if task := s.Task(record.ID); task.Exists() {
			return servedBy(s, task.Value.Owner())
		}
	case *api.WorkloadStatus:
		if ref, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.StatusPrefix)); ok {
			return servedBy(s, ref)
		}
	case *api.IngressNodeStatus:
		return control.Keys(s, api.KindIngress)
	}
	return nil
}

// routedWith returns the ingress that changed, and those that share its host, as it is and as it was.
func routedWith(s records.Snapshot, change view.Change) []engine.Key {
	var changed []*api.Object
	for _, value := range []any{change.Old, change.New} {
		if object, ok := value.(*api.Object); ok && object != nil {
			changed = append(changed, object)
		}
	}
	out := []engine.Key{control.Key(changed[0].Ref())}
	for _, ref := range related(s, changed...) {
		if key := control.Key(ref); key != out[0] {
			out = append(out, key)
		}
	}
	return out
}

// mayMean returns the ingresses whose service is not there, and that may have meant a workload that comes or goes: their
// status names it.
func mayMean(s records.Snapshot, workload api.Ref, change view.Change) []engine.Key {
	if !workload.Kind.Serves() || change.Old != nil && change.New != nil {
		return nil
	}
	var out []engine.Key
	for object := range s.Objects(api.KindIngress) {
		if object.Value.Scope != workload.Scope {
			continue
		}
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err == nil && suggest.Near(spec.ServiceName(object.Value.Name), workload.Name) {
			out = append(out, control.Key(object.Value.Ref()))
		}
	}
	return out
}

func servedBy(s records.Snapshot, workload api.Ref) []engine.Key {
	if !workload.Kind.Serves() {
		return nil
	}
	var out []engine.Key
	for object := range s.Objects(api.KindIngress) {
		if object.Value.Scope != workload.Scope {
			continue
		}
		spec, err := api.DecodeSpec[api.IngressSpec](*object.Value)
		if err == nil && spec.ServiceName(object.Value.Name) == workload.Name {
			out = append(out, control.Key(object.Value.Ref()))
		}
	}
	return out
}
