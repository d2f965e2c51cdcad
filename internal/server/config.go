package server

import (
	"context"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
)

// ConfigQuery names a bucket: a scope's, or with a name that of one app.
type ConfigQuery struct {
	Scope string `query:"scope" required:"true"`
	Name  string `query:"name"`
}

type readConfigQuery struct {
	ConfigQuery
	// Key selects one value in plain text. Without it the answer has only keys, no values.
	Key string `query:"key"`
}

func (s *Server) config(ctx context.Context, in *readConfigQuery) (api.ConfigResult, error) {
	result := api.ConfigResult{Scope: in.Scope, Name: in.Name, Keys: []string{}}
	if in.Key != "" {
		value, err := s.Verbs.ConfigValue(ctx, verbs.Bucket(in.ConfigQuery), in.Key, actorOf(ctx))
		result.Keys, result.Value = append(result.Keys, in.Key), &value
		return result, err
	}
	if err := verbs.Bucket(in.ConfigQuery).Check(); err != nil {
		return api.ConfigResult{}, err
	}
	snap, err := s.snapshot()
	if err != nil {
		return api.ConfigResult{}, err
	}
	result.Keys, result.Revision = append(result.Keys, verbs.ConfigKeys(snap, verbs.Bucket(in.ConfigQuery))...),
		snap.Revision()
	if in.Name == "" {
		result.Apps = verbs.ConfigApps(snap, in.Scope)
	}
	return result, nil
}

type setConfigQuery struct {
	ConfigQuery
	// Restart "false" doesn't restart running pods. It is a text because a boolean's default would win over false.
	Restart string `query:"restart" enum:"true,false"`
	Body    api.ConfigRequest
}

func (s *Server) setConfig(ctx context.Context, in *setConfigQuery) (api.ConfigResult, error) {
	result, err := s.Verbs.SetConfig(ctx, verbs.Bucket(in.ConfigQuery), verbs.ConfigChange{
		Set: in.Body.Set, Unset: in.Body.Unset, Quiet: in.Restart == "false", Actor: actorOf(ctx),
	})
	s.settle(ctx, result.Revision)
	if err == nil && result.Keys == nil {
		result.Keys = []string{}
	}
	return result, err
}
