package server

import (
	"context"

	"tend.dev/tend/api"
)

func (s *Server) servers(ctx context.Context, _ *struct{}) (api.Servers, error) {
	if s.Servers == nil {
		return api.Servers{Items: []api.Server{}}, nil
	}
	return s.Servers(ctx), nil
}

type serverPath struct {
	Name string `path:"name"`
}

func (s *Server) removeServer(ctx context.Context, in *serverPath) (api.Servers, error) {
	if s.RemoveServer == nil {
		return api.Servers{}, badRequest("tend servers", "this server's store is not shared with others")
	}
	if err := s.RemoveServer(ctx, in.Name); err != nil {
		return api.Servers{}, err
	}
	s.Logger.InfoContext(ctx, "server removed", "server", in.Name, "actor", actorOf(ctx))
	return s.servers(ctx, nil)
}
