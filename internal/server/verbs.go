package server

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/verbs"
)

// TargetQuery names an object by parameters; kind and scope may be left out where the rest is unambiguous.
type TargetQuery struct {
	Kind  string `query:"kind"`
	Scope string `query:"scope"`
	Name  string `query:"name"`
}

func (t TargetQuery) target() (verbs.Target, error) {
	target := verbs.Target{Scope: t.Scope, Name: t.Name}
	if t.Name == "" {
		return target, badRequest("add name=", "say which object")
	}
	if t.Kind == "" {
		return target, nil
	}
	var err error
	target.Kind, err = kindOf(t.Kind)
	return target, err
}

type scaleQuery struct {
	TargetQuery
	Replicas       int  `query:"replicas" required:"true"`
	ForceConflicts bool `query:"force_conflicts"`
}

func (s *Server) scale(ctx context.Context, in *scaleQuery) (api.VerbResult, error) {
	return s.verb(ctx, in.TargetQuery, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.Scale(ctx, target, in.Replicas,
			verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts})
	})
}

func (s *Server) restart(ctx context.Context, in *TargetQuery) (api.VerbResult, error) {
	return s.verb(ctx, *in, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.Restart(ctx, target, actorOf(ctx))
	})
}

func (s *Server) reconcile(ctx context.Context, in *TargetQuery) (api.VerbResult, error) {
	return s.verb(ctx, *in, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.Reconcile(ctx, target, actorOf(ctx))
	})
}

func (s *Server) syncNow(ctx context.Context, in *struct {
	Name string `query:"name" required:"true"`
},
) (api.VerbResult, error) {
	result, err := s.Verbs.SyncNow(ctx, in.Name, actorOf(ctx))
	s.settle(ctx, result.Revision)
	return result, err
}

type rebootstrapQuery struct {
	TargetQuery
	Ordinal int `query:"ordinal" required:"true"`
}

func (s *Server) rebootstrap(ctx context.Context, in *rebootstrapQuery) (api.VerbResult, error) {
	return s.verb(ctx, in.TargetQuery, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.Rebootstrap(ctx, target, in.Ordinal, actorOf(ctx))
	})
}

type rollbackQuery struct {
	TargetQuery
	Release        string `query:"release"`
	WithConfig     bool   `query:"with_config"`
	DryRun         bool   `query:"dry_run"`
	ForceConflicts bool   `query:"force_conflicts"`
}

func (s *Server) rollback(ctx context.Context, in *rollbackQuery) (api.VerbResult, error) {
	return s.verb(ctx, in.TargetQuery, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.Rollback(ctx, target, verbs.RollbackOptions{
			Release: in.Release, WithConfig: in.WithConfig, DryRun: in.DryRun,
			FieldManager: verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts},
		})
	})
}

func (s *Server) verb(ctx context.Context, named TargetQuery, do func(verbs.Target) (api.VerbResult, error),
) (api.VerbResult, error) {
	target, err := named.target()
	if err != nil {
		return api.VerbResult{}, err
	}
	result, err := do(target)
	s.settle(ctx, result.Revision)
	return result, err
}

// resolved returns the object that was named, as the store is now.
func (s *Server) resolved(in *TargetQuery) (snap records.Snapshot, ref api.Ref, err error) {
	target, err := in.target()
	if err != nil {
		return snap, ref, err
	}
	if snap, err = s.snapshot(); err != nil {
		return snap, ref, err
	}
	ref, err = target.Resolve(snap)
	return snap, ref, err
}

// releases returns what rollback can return to.
func (s *Server) releases(_ context.Context, in *TargetQuery) (api.ListResult[api.ReleaseInfo], error) {
	var none api.ListResult[api.ReleaseInfo]
	snap, ref, err := s.resolved(in)
	if err != nil {
		return none, err
	}
	return api.ListResult[api.ReleaseInfo]{Items: s.releaseInfos(snap, ref), Revision: snap.Revision()}, nil
}

// stopping needs an agent, freezing doesn't: it is an intent like any other.
func (s *Server) stopTask(ctx context.Context, task *api.Task) error {
	on, err := s.Nodes.Node(task.Node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime-5*time.Second)
	defer cancel()
	return on.Stop(ctx, task.ID)
}

func notLive(pod string) error {
	return &api.Problem{Status: http.StatusConflict, Detail: pod + " is not wanted running",
		Next: "`tend get pods` lists what runs"}
}
