package server

import (
	"context"
	"slices"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
)

// deliveries returns the webhook calls of an object, as long as they are kept: an hour from their end. They name no
// address and no header, which may be secrets.
func (s *Server) deliveries(_ context.Context, in *TargetQuery) (api.ListResult[api.Delivery], error) {
	var none api.ListResult[api.Delivery]
	snap, ref, err := s.resolved(in)
	if err != nil {
		return none, err
	}
	return api.ListResult[api.Delivery]{Items: deliveriesOf(snap, ref), Revision: snap.Revision()}, nil
}

func deliveriesOf(snap records.Snapshot, ref api.Ref) []api.Delivery {
	out := []api.Delivery{}
	for _, read := range snap.Deliveries(ref) {
		out = append(out, *read.Value)
	}
	slices.SortStableFunc(out, func(a, b api.Delivery) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return out
}
