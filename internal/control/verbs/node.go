package verbs

import (
	"context"
	"encoding/json"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// SetAvailability sets what a node takes. It is a field of the node's object, which is created if there is none, and
// belongs to a manager of its own: applying the object's manifest again leaves it as it is.
func (s *Service) SetAvailability(
	ctx context.Context, node, availability string, by FieldManager,
) (api.VerbResult, error) {
	by.Manager = api.ManagerAvailability
	result, err := s.setNode(ctx, node, api.NodeSpec{Availability: availability}, by)
	if err != nil || availability != api.NodeActive {
		return result, err
	}
	cleared, err := s.forgetLosses(ctx, node)
	result.Changed = result.Changed || cleared
	return result, err
}

// SetIngress sets whether a node serves ingresses. It writes the node's object, as SetAvailability does.
func (s *Service) SetIngress(ctx context.Context, node string, serves bool, by FieldManager) (api.VerbResult, error) {
	by.Manager = api.ManagerIngress
	return s.setNode(ctx, node, api.NodeSpec{Ingress: &serves}, by)
}

func (s *Service) setNode(
	ctx context.Context, node string, fields api.NodeSpec, by FieldManager,
) (api.VerbResult, error) {
	snap, err := s.opts.Reader.Fresh(ctx)
	if err != nil {
		return api.VerbResult{}, err
	}
	ref := nodeRef(node)
	if !snap.Node(node).Exists() && !snap.Object(ref).Exists() {
		return api.VerbResult{}, noNode(snap, node)
	}
	spec, err := json.Marshal(fields)
	if err != nil {
		return api.VerbResult{}, err
	}
	applied, err := s.Apply(ctx, []api.Object{{Kind: ref.Kind, Scope: ref.Scope, Name: ref.Name, Spec: spec}},
		ApplyOptions{FieldManager: by})
	if err != nil {
		return api.VerbResult{}, err
	}
	object := applied.Objects[0]
	return api.VerbResult{Object: ref, Changed: applied.Changed(), Generation: object.Generation,
		Revision: applied.Revision}, nil
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

func noNode(snap records.Snapshot, node string) error {
	var known []string
	for _, status := range snap.Nodes() {
		known = append(known, status.Value.ID)
	}
	return notFound("`tend nodes` lists what there is", "there is no node %s%s", node, meant(node, known))
}
