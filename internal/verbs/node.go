package verbs

import (
	"context"
	"encoding/json"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
)

// SetAvailability says what a node takes. It is a field of the node's object, which is created if there is none, and
// belongs to a manager of its own: applying the object's manifest again leaves it as it is.
func (s *Service) SetAvailability(ctx context.Context, node, availability string, by FieldManager) (api.VerbResult, error) {
	by.Manager = api.ManagerAvailability
	result, err := s.setNode(ctx, node, api.NodeSpec{Availability: availability}, by)
	if err != nil || availability != api.NodeActive {
		return result, err
	}
	cleared, err := s.forgetLosses(ctx, node)
	result.Changed = result.Changed || cleared
	return result, err
}

// SetIngress says whether a node serves ingresses, as SetAvailability does.
func (s *Service) SetIngress(ctx context.Context, node string, serves bool, by FieldManager) (api.VerbResult, error) {
	by.Manager = api.ManagerIngress
	return s.setNode(ctx, node, api.NodeSpec{Ingress: &serves}, by)
}

func (s *Service) setNode(ctx context.Context, node string, fields api.NodeSpec, by FieldManager) (api.VerbResult, error) {
	snap, err := s.opts.Reader.Fresh(ctx)
	if err != nil {
		return api.VerbResult{}, err
	}
	ref := nodeRef(node)
	if !snap.Node(node).Exists() && !snap.Object(ref).Exists() {
		return api.VerbResult{}, noNode(node)
	}
	spec, err := json.Marshal(fields)
	if err != nil {
		return api.VerbResult{}, err
	}
	applied, err := s.Apply(ctx, []api.Object{{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}}, ApplyOptions{FieldManager: by})
	if err != nil {
		return api.VerbResult{}, err
	}
	object := applied.Objects[0]
	return api.VerbResult{Object: ref, Changed: applied.Changed(), Generation: object.Generation, Revision: applied.Revision}, nil
}

type forgetDecision struct{ txn *records.Txn }

func (d forgetDecision) transaction() *records.Txn { return d.txn }

// forgetLosses lets a node that was lost again and again take tasks at once.
func (s *Service) forgetLosses(ctx context.Context, node string) (cleared bool, err error) {
	_, revision, err := decide(ctx, s, func(snap records.Snapshot) (forgetDecision, error) {
		d := forgetDecision{records.NewTxn("node.losses")}
		if read := snap.Losses(node); read.Exists() {
			d.txn.If(records.LossesKey(node), read.Modified).Delete(records.LossesKey(node))
		}
		return d, nil
	})
	return revision > 0, err
}

func nodeRef(node string) api.Ref {
	return api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: node}
}

func noNode(node string) error {
	return notFound("`tend nodes` lists what there is", "there is no node %s", node)
}

type downDecision struct {
	txn    *records.Txn
	result api.NodeDownResult
}

func (d *downDecision) transaction() *records.Txn { return d.txn }

// Down is what an operator says of a node.
type Down int

// What an operator says: it is off and comes back, it is gone for good, it is to be cut off although it answers.
const (
	ConfirmDown Down = iota
	RemoveNode
	ForceNodeOut
)

// NodeDown records that a silent node is off: its tasks have ended, so that others take their places, in statefulsets too.
// One that is removed is no longer of the cluster: its certificate is refused, its connections are closed, and what its volumes
// held is given up. A node that answers is refused, unless it is forced out: what it could read is named then.
func (s *Service) NodeDown(ctx context.Context, node string, how Down, actor string) (api.NodeDownResult, error) {
	verb := "remove"
	if how == ConfirmDown {
		verb = "confirm-down"
	}
	decided, revision, err := decide(FieldManager{Actor: actor}.asks(ctx, verb), s, func(snap records.Snapshot) (*downDecision, error) {
		return s.prepareDown(snap, node, how)
	})
	if err != nil {
		return api.NodeDownResult{}, err
	}
	decided.result.Revision = revision
	s.note(ctx, verb, actor, revision, nodeRef(node))
	return decided.result, nil
}

func (s *Service) prepareDown(snap records.Snapshot, node string, how Down) (*downDecision, error) {
	member := snap.Member(node)
	if !snap.Node(node).Exists() && !snap.Object(nodeRef(node)).Exists() && (!member.Exists() || member.Value.Removed) {
		return nil, noNode(node)
	}
	d := &downDecision{txn: records.NewTxn("node.down"), result: api.NodeDownResult{Node: node}}
	switch {
	case how == ForceNodeOut && member.Exists() && member.Value.Server != "":
		return nil, &Error{Reason: InUse, Detail: "node " + node + " is that of server " + member.Value.Server,
			Next: "take the server out first: tend servers remove " + member.Value.Server}
	case how == ForceNodeOut && !member.Exists() && snap.Alive(node): // that of a server that is alone has no record
		return nil, &Error{Reason: InUse, Detail: "node " + node + " is that of the server itself",
			Next: "a server without containers is started with --no-agent; `tend drain " + node + "` moves its pods to other nodes before"}
	case how == ForceNodeOut:
		d.txn.Delete(records.AliveKey(node))
		d.result.Rotate = exposed(snap, node)
		d.revokeToken(snap, node, s)
	case snap.Alive(node):
		return nil, &Error{Reason: InUse, Detail: "node " + node + " answers",
			Next: "stop Tend on it first (systemctl stop tend-agent) and wait for the node timeout; `tend drain " + node + "` moves its pods before; " +
				"--force cuts a node off that can't be stopped"}
	default:
		d.txn.If(records.AliveKey(node), 0)
	}
	s.end(d, snap, node, how != ConfirmDown)
	if how != ConfirmDown {
		removeNode(d, snap, node)
	}
	return d, nil
}

// end writes the end of the node's tasks in the place of its agent, which doesn't answer.
func (s *Service) end(d *downDecision, snap records.Snapshot, node string, remove bool) {
	message := "an operator said that node " + node + " is off"
	if remove {
		message = "node " + node + " was removed from the cluster"
	}
	for _, task := range snap.TasksOn(node) {
		read := snap.TaskStatus(task.Value.ID)
		status := api.TaskStatus{ID: task.Value.ID, Node: node, CreatedAt: task.Value.CreatedAt}
		if read.Exists() {
			status = *read.Value
		}
		if status.State.Terminal() {
			continue
		}
		status.State, status.Ready, status.Reason, status.Message, status.FinishedAt = api.TaskFailed, false, api.ReasonNodeDown, message, s.opts.Now()
		status.Next = ""
		key := records.TaskStatusKey(status.ID)
		d.txn.If(records.TaskKey(status.ID), task.Modified).If(key, read.Modified).Put(key, status)
		d.result.Pods = append(d.result.Pods, task.Value.ContainerName())
	}
}

// removeNode deletes what the store knows of a node.
func removeNode(d *downDecision, snap records.Snapshot, node string) {
	member := snap.Member(node)
	d.txn.If(records.MemberKey(node), member.Modified).Put(records.MemberKey(node), records.Member{Removed: true})
	d.txn.Delete(records.NodeKey(node)).Delete(records.IngressNodeKey(node)).Delete(records.NetworkNodeKey(node))
	if object := snap.Object(nodeRef(node)); object.Exists() {
		key := records.ObjectKey(nodeRef(node))
		d.txn.If(key, object.Modified).Delete(key)
	}
	for record := range snap.Prefix(records.ActualImagesPrefix + node + "/") {
		d.txn.Delete(record.Key)
	}
	for volume, home := range snap.Homes() {
		if home == node {
			d.txn.Delete(records.HomeKey(volume))
			d.result.Volumes = append(d.result.Volumes, volume)
		}
	}
}
