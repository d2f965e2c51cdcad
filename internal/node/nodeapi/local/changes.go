package local

import (
	"cmp"
	"net/netip"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// effect is the effect of a commit's change on a node.
type effect struct {
	// node is whom the change concerns; all is set if it concerns every node. A task that has no node concerns none.
	node string
	all  bool
	task string
	// image is the owner of a request for an image. Without a node it concerns those that are asked for it, or were;
	// requested is set if the request itself changed.
	image     api.Ref
	requested bool
	// registry is the host whose credentials changed.
	registry string
	// service is the scope/name of a workload that proxies may serve; table is set if ingresses or certificates
	// changed.
	service string
	table   bool
	// network is set if the network changed as a whole, or the node's own part of it; peer is a node whose part changed.
	network bool
	peer    string
	// relay is a node that takes connections elsewhere now, or may ask for some now, or no longer; ports is set if a port
	// of every node was declared, or is no longer.
	relay string
	ports bool
	// pods is a node one of whose pods had the first of these addresses, and has the second now.
	pods  string
	moved [2]netip.Addr
	// quiet is set if the readable state changed, but nothing is to be reconciled for it: the node reported it itself.
	quiet bool
}

// concerns reports whether the effect may be one on a node: whether it is asked for an image, it reads for itself.
func (e effect) concerns(node string) bool { return e.node == node || e.all || e.asks() }

func (e effect) asks() bool { return e.node == "" && e.image != (api.Ref{}) }

// changed notifies the nodes that have something to reconcile after a commit.
func (s *Service) changed(change view.Change) {
	s.renewServed(change)
	if _, release := change.Old.(*api.Release); release && change.Deleted {
		s.environments.forget(change.Key)
	}
	served := false
	for _, e := range s.effects(change) {
		served = served || s.routes(e)
		if notice := e.notice(); notice != (node.Change{}) {
			s.notify(s.audienceOf(e, change.Revision), notice)
		}
	}
	if served {
		s.notify(interest{all: true}, node.Change{Served: true})
	}
}

// notice returns what a node is to reconcile for the effect, apart from what is served.
func (e effect) notice() node.Change {
	if e.quiet {
		return node.Change{}
	}
	return node.Change{
		Task: e.task, Image: e.image, Registry: e.registry, Network: e.network || e.peer != "",
		Pods:   e.network || e.pods != "",
		Served: e.relay != "",
	}
}

func (s *Service) effects(change view.Change) []effect {
	switch record := valueOf(change).(type) {
	case *api.Task:
		return s.taskChanged(change, record)
	case *api.TaskStatus:
		return s.statusChanged(change, record)
	case *api.Frozen:
		return s.thawed(strings.TrimPrefix(change.Key, records.FrozenPrefix), record.Slot)
	case *api.Hold:
		return s.released(change.Key)
	case *api.ImageRequest:
		return []effect{{image: record.Owner, requested: true}}
	case *api.ImageStatus:
		return imageAnswered(change, record)
	case *api.LabStatus:
		return s.labMoved(change)
	case *api.Object:
		return objectChanged(s.snapshot(), change, record)
	case *api.NetworkNodeStatus, *api.Subnets:
		return networkChanged(s.snapshot(), change)
	case *api.NodeStatus:
		return relayMoved(change, record)
	case *records.Unanswered:
		if owner, _, ok := records.ParseRef(strings.TrimPrefix(change.Key, records.UnansweredPrefix)); ok {
			return []effect{{image: owner}}
		}
	case *records.Member:
		// it may serve ingresses now, or no longer
		return []effect{{table: true}, {all: true, relay: strings.TrimPrefix(change.Key, records.MembersPrefix)}}
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

// taskChanged returns the effects of the desired half of a task. Where it begins or ends to run decides who is asked
// for the image of its owner.
func (s *Service) taskChanged(change view.Change, task *api.Task) (out []effect) {
	if change.Deleted {
		out = s.successors(*task)
	}
	out = append(out, effect{node: task.Node, task: task.ID, service: serviceOf(task)})
	if runsOn(change.Old) != runsOn(change.New) && s.snapshot().ImageRequest(task.Owner()).Exists() {
		out = append(out, effect{image: task.Owner()})
	}
	return out
}

// runsOn returns the node that is to run a task; empty if none is.
func runsOn(value any) string {
	if task, ok := value.(*api.Task); ok && task.Desired == api.DesiredRunning {
		return task.Node
	}
	return ""
}

// valueOf returns the record that changed, as it is or was.
func valueOf(change view.Change) any {
	return cmp.Or(change.New, change.Old)
}

// statusChanged returns the effects of a node's report. They are quiet for the node itself, with two exceptions: the
// end of a task, which another task on any node may wait for, and the recording of a container, after which a task that
// runs once starts.
func (s *Service) statusChanged(change view.Change, status *api.TaskStatus) []effect {
	ended := status.State.Terminal() || change.Deleted
	own := effect{node: status.Node, task: status.ID, quiet: !ended &&
		(status.Container == "" || !status.StartedAt.IsZero())}
	snap := s.snapshot()
	task := snap.Task(status.ID)
	if !task.Exists() {
		return append(s.podMoved(change, status), own)
	}
	own.service = serviceOf(task.Value)
	out := append(s.podMoved(change, status), own)
	if ended {
		out = append(out, s.successors(*task.Value)...)
	}
	return out
}

// successors returns the effects on the tasks that wait for the end of this one. Those of its own node are among them:
// its agent forgets the ends of tasks that are gone, before or after it has looked at the ones that wait.
func (s *Service) successors(of api.Task) (out []effect) {
	for _, other := range s.snapshot().TasksAfter(of.ID) {
		out = append(out, effect{node: other.Value.Node, task: other.Value.ID})
	}
	return out
}

// imageAnswered returns the effects of a node's answer: the others may have to answer too, or no longer.
func imageAnswered(change view.Change, status *api.ImageStatus) []effect {
	own := effect{node: status.Node, image: status.Owner, quiet: true}
	if old, ok := change.Old.(*api.ImageStatus); ok && !change.Deleted && old.State == status.State &&
		old.Image == status.Image && old.Nonce == status.Nonce {
		return []effect{own}
	}
	return []effect{own, {image: status.Owner}}
}

// comesOrGoes returns the effects of the first and the last heartbeat of a node: another one answers for images, and
// proxies send its pods requests again, or none any more.
func (s *Service) comesOrGoes(change view.Change) (out []effect) {
	if change.Old != nil && !change.Deleted {
		return nil
	}
	snap, seen := s.snapshot(), map[string]bool{}
	for _, task := range snap.TasksOn(strings.TrimPrefix(change.Key, records.AlivePrefix)) {
		if service := serviceOf(task.Value); !seen[service] {
			seen[service] = true
			out = append(out, effect{service: service})
		}
	}
	for _, request := range snap.ImageRequests() {
		out = append(out, effect{image: request.Value.Owner})
	}
	return out
}

// thawed returns the tasks of a slot that a person froze or thawed.
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
	for _, kind := range api.KindsThat(api.Kind.Serves) {
		for _, task := range snap.TasksOf(api.Ref{Kind: kind, Scope: scope, Name: name}) {
			out = append(out, effect{node: task.Value.Node, task: task.Value.ID})
		}
	}
	return out
}

func objectChanged(snap records.Snapshot, change view.Change, object *api.Object) []effect {
	switch {
	case object.Kind == api.KindIngress:
		return []effect{{table: true}, {all: portMoved(change), ports: true}}
	case object.Kind == api.KindNode:
		return nodeDeclared(snap, object.Name)
	case object.Kind.TimeBoxed():
		return []effect{{service: object.Scope + "/" + object.Name, table: hadRoute(change)}}
	case object.Kind.HasSlots():
		return []effect{{service: object.Scope + "/" + object.Name}}
	case object.Kind == api.KindNetwork:
		return networkChanged(snap, change)
	case object.Kind == api.KindRegistry:
		return registryChanged(change)
	}
	return nil
}

// nodeDeclared returns the effects of what a person says of a node: it may serve ingresses or no longer, and another
// one may be asked for images.
func nodeDeclared(snap records.Snapshot, name string) []effect {
	out := []effect{{table: true}, {all: true, relay: name}}
	for _, request := range snap.ImageRequests() {
		out = append(out, effect{image: request.Value.Owner})
	}
	return out
}

// hadRoute reports whether a lab that changed has a route, or had one.
func hadRoute(change view.Change) bool {
	for _, value := range []any{change.Old, change.New} {
		if object, ok := value.(*api.Object); ok {
			if _, routed := labRoute(object); routed {
				return true
			}
		}
	}
	return false
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
