package server

import (
	"context"

	"tend.dev/tend/api"
)

func (s *Server) keys(context.Context, *struct{}) (api.Keys, error) {
	out := api.Keys{Items: []api.Key{}}
	if s.Keys != nil {
		out.Items = append(out.Items, s.Keys()...)
	}
	return out, nil
}

type keyPath struct {
	Name string `path:"name"`
}

func (s *Server) rotateKey(ctx context.Context, in *keyPath) (api.Keys, error) {
	if s.RotateKey == nil {
		return api.Keys{}, badRequest("tend keys", "this server has no keys that can be rotated")
	}
	if err := s.RotateKey(ctx, in.Name, actorOf(ctx)); err != nil {
		return api.Keys{}, err
	}
	s.Logger.InfoContext(ctx, "the rotation of a key begins", "key", in.Name, "actor", actorOf(ctx))
	return s.keys(ctx, nil)
}
