package server

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
	"tend.dev/tend/internal/core/clusterjob"
)

// inviting holds the lifetime of a registration token, and whether the cluster gets new keys.
type inviting struct {
	TTL     string `query:"ttl"`
	NewKeys bool   `query:"new_keys"`
}

var _ = declare(verb.Verb{
	Name: "token", Kind: api.KindCluster, Rule: access.Admins("clusters add"),
	Summary: "Make a token with which the operator of a Kubernetes cluster registers, valid for ttl (default 24h)",
}, (*Server).inviteCluster)

// inviteCluster makes a token with which the operator of a cluster registers.
func (s *Server) inviteCluster(
	ctx context.Context, target verbs.Target, in inviting,
) (api.ClusterRegistration, error) {
	name, ttl := target.Name, clusterjob.RegistrationLife
	if in.TTL != "" {
		var err error
		if ttl, err = time.ParseDuration(in.TTL); err != nil || ttl < time.Second || ttl > clusterjob.MaxRegistrationLife {
			return api.ClusterRegistration{},
				badRequest("give a duration such as 24h", "ttl is %s: from 1s to 168h", clip(in.TTL))
		}
	}
	if s.InviteCluster == nil {
		return api.ClusterRegistration{},
			&api.Problem{Status: http.StatusNotImplemented, Detail: "this server has no clusters", Next: "tend version"}
	}
	registration, err := s.InviteCluster(ctx, name, ttl, in.NewKeys)
	if err == nil {
		s.Logger.Info("registration token made", "kubernetes", name, "actor", actorOf(ctx), "expires",
			registration.ExpiresAt)
	}
	return registration, err
}
