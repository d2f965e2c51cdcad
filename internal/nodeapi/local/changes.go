package local

import (
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// effect is what a commit's change means for a node.
type effect struct {
	// node is whom the change concerns; all is set if it concerns every node, apart from but. A task that has no node concerns none.
	node  string
	all   bool
	but   string
	task  string
	image api.Ref
	// registry is the host whose credentials changed.
	registry string
	// service is the scope/name of a workload that proxies may serve; table is set if ingresses or certificates
	// changed.
	service string
	table   bool
	// network is set if the network changed as a whole, or the node's own part of it; peer is a node whose part changed.
	network bool
	peer    string
	// quiet is set if the readable state changed, but nothing is to be reconciled for it: the node reported it itself.
	quiet bool
}

// concerns reports whether the effect is one on a node.
func (e effect) concerns(node string) bool { return e.node == node || e.all && e.but != node }

// changed notifies the nodes that have something to reconcile after a commit.
func (s *Service) changed(change view.Change) {
	s.renewServed(change)
	served := false
	for _, e := range s.effects(change) {
		served = served || s.routes(e)
		if notice := e.notice(); notice != (node.Change{}) {
			s.notify(e, notice)
		}
	}
	if served {
		s.notify(effect{all: true}, node.Change{Served: true})
	}
}

// notice returns what a node is to reconcile for the effect, apart from what is served.
func (e effect) notice() node.Change {
	if e.quiet {
		return node.Change{}
	}
	return node.Change{Task: e.task, Image: e.image, Registry: e.registry, Network: e.network || e.peer != ""}
}

func (s *Service) effects(change view.Change) []effect {
	switch record := valueOf(change).(type) {
	case *api.Task:
		own := effect{node: record.Node, task: record.ID, service: serviceOf(record)}
		if !change.Deleted {
			return []effect{own}
		}
		return append(s.successors(*record), own)
	case *api.TaskStatus:
		return s.statusChanged(change, record)
	case *api.Frozen:
		return s.thawed(strings.TrimPrefix(change.Key, records.FrozenPrefix), record.Slot)
	case *api.Hold:
		return s.released(change.Key)
	case *api.ImageRequest:
		return []effect{{all: true, image: record.Owner}}
	case *api.ImageStatus:
		return imageAnswered(change, record)
	case *api.Object:
		return objectChanged(change, record)
	case *api.NetworkNodeStatus, *api.Subnets:
		return networkChanged(change)
	case []byte:
		switch {
		case strings.HasPrefix(change.Key, records.ConfigPrefix): // certificates of a user's own
			return []effect{{table: true}}
		case strings.HasPrefix(change.Key, records.AlivePrefix):
			return s.comesOrGoes(change)
		}
	}
	return nil
}

// valueOf returns the record that changed, as it is or was.
func valueOf(change view.Change) any {
	if change.New == nil {
		return change.Old
	}
	return change.New
}

// statusChanged returns the effects of a node's report. They are quiet for the node itself, with two exceptions: the
// end of a task, which another task on any node may wait for, and the recording of a container, after which a task that
// runs once starts.
func (s *Service) statusChanged(change view.Change, status *api.TaskStatus) []effect {
	ended := status.State.Terminal() || change.Deleted
	own := effect{node: status.Node, task: status.ID, quiet: !ended && (status.Container == "" || !status.StartedAt.IsZero())}
	snap := s.snapshot()
	task := snap.Task(status.ID)
	if !task.Exists() {
		return []effect{own}
	}
	own.service = serviceOf(task.Value)
	if !ended {
		return []effect{own}
	}
	return append(s.successors(*task.Value), own)
}

// successors returns the effects on the tasks that wait for the end of this one. Those of its own node are among them: its
// agent forgets the ends of tasks that are gone, before or after it has looked at the ones that wait.
func (s *Service) successors(of api.Task) (out []effect) {
	for _, other := range s.snapshot().TasksOf(of.Owner()) {
		if other.Value.After == of.ID {
			out = append(out, effect{node: other.Value.Node, task: other.Value.ID})
		}
	}
	return out
}

// imageAnswered returns the effects of a node's answer: the others may have to answer too, or no longer.
func imageAnswered(change view.Change, status *api.ImageStatus) []effect {
	own := effect{node: status.Node, image: status.Owner, quiet: true}
	if old, ok := change.Old.(*api.ImageStatus); ok && !change.Deleted && old.State == status.State && old.Image == status.Image && old.Nonce == status.Nonce {
		return []effect{own}
	}
	return []effect{own, {all: true, but: status.Node, image: status.Owner}}
}

// comesOrGoes returns the effects of the first and the last heartbeat of a node: another one answers for images, and proxies
// send its pods requests again, or none any more.
func (s *Service) comesOrGoes(change view.Change) (out []effect) {
	if change.Old != nil && !change.Deleted {
		return nil
	}
	out = append(out, effect{table: true})
	for _, request := range s.snapshot().ImageRequests() {
		out = append(out, effect{all: true, image: request.Value.Owner})
	}
	return out
}

// thawed returns the tasks of a slot that an operator froze or thawed.
func (s *Service) thawed(path, slot string) (out []effect) {
	owner, _, ok := records.ParseRef(path)
	if !ok {
		return nil
	}
	for _, task := range s.snapshot().TasksOf(owner) {
		if task.Value.Slot == slot {
			out = append(out, effect{node: task.Value.Node, task: task.Value.ID, service: serviceOf(task.Value)})
		}
	}
	return out
}

// released returns the tasks of the objects that a plugin's call starts or ends working on.
func (s *Service) released(key string) (out []effect) {
	scope, name, ok := records.ParseHold(key)
	if !ok {
		return nil
	}
	snap := s.snapshot()
	for _, kind := range api.KindsThat(api.Kind.HasSlots) {
		for _, task := range snap.TasksOf(api.Ref{Kind: kind, Scope: scope, Name: name}) {
			out = append(out, effect{node: task.Value.Node, task: task.Value.ID})
		}
	}
	return out
}

func objectChanged(change view.Change, object *api.Object) []effect {
	switch {
	case object.Kind == api.KindIngress:
		return []effect{{table: true}}
	case object.Kind.HasSlots():
		return []effect{{service: object.Scope + "/" + object.Name}}
	case object.Kind == api.KindNetwork:
		return networkChanged(change)
	case object.Kind == api.KindRegistry:
		return registryChanged(change)
	}
	return nil
}

// registryChanged returns the hosts whose credentials changed.
func registryChanged(change view.Change) (out []effect) {
	hosts := map[string]bool{}
	for _, value := range []any{change.Old, change.New} {
		object, ok := value.(*api.Object)
		if !ok || object.Kind != api.KindRegistry {
			continue
		}
		if spec, err := api.DecodeSpec[api.RegistrySpec](*object); err == nil && !hosts[spec.Host()] {
			hosts[spec.Host()] = true
			out = append(out, effect{all: true, registry: spec.Host()})
		}
	}
	return out
}

func serviceOf(task *api.Task) string { return task.Scope + "/" + task.Name }
