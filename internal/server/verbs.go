package server

import (
	"context"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/store/records"
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

// VerbPath names the object that something is asked of. A kind or a scope of - is left out, as in a TargetQuery.
type VerbPath struct {
	Kind  string `path:"kind" doc:"its kind, or - where the rest is unambiguous"`
	Scope string `path:"scope" doc:"its scope, or - where the rest is unambiguous"`
	Name  string `path:"name"`
}

// leftOut stands for a part of a path that is left out.
const leftOut = "-"

// orEmpty returns a part of a path; empty if it is left out.
func orEmpty(part string) string {
	if part == leftOut {
		return ""
	}
	return part
}

func (p VerbPath) target() (verbs.Target, error) {
	return TargetQuery{Kind: orEmpty(p.Kind), Scope: orEmpty(p.Scope), Name: p.Name}.target()
}

// verb registers what can be asked of an object, at the path that ends with its name. In is the path, with parameters.
func verb[In interface {
	target() (verbs.Target, error)
}, Out any](s *Server, name, summary string, do func(context.Context, verbs.Target, In) (Out, error)) {
	typed(s, "POST", "/v1/objects/{kind}/{scope}/{name}/"+name, summary, func(ctx context.Context, in *In) (out Out, err error) {
		target, err := (*in).target()
		if err != nil {
			return out, err
		}
		if out, err = do(ctx, target, *in); err == nil {
			s.settle(ctx, revisionOf(out))
		}
		return out, err
	})
}

// plainVerb registers a verb without parameters that an actor asks for.
func plainVerb[Out any](s *Server, name, summary string,
	do func(ctx context.Context, target verbs.Target, actor string) (Out, error),
) {
	verb(s, name, summary, func(ctx context.Context, target verbs.Target, _ VerbPath) (Out, error) {
		return do(ctx, target, actorOf(ctx))
	})
}

// serviceVerb registers a verb that the service decides. The paths are registered before there is a service.
func serviceVerb[Out any](s *Server, name, summary string,
	do func(*verbs.Service, context.Context, verbs.Target, string) (Out, error),
) {
	plainVerb(s, name, summary, func(ctx context.Context, target verbs.Target, actor string) (Out, error) {
		return do(s.Verbs, ctx, target, actor)
	})
}

// only carries out a verb that objects of one kind have, which are in no scope.
func only[Out any](target verbs.Target, kind api.Kind, do func(name string) (Out, error)) (out Out, err error) {
	if target.Kind != "" && target.Kind != kind {
		return out, badRequest("name a "+string(kind), "%s has another kind", target)
	}
	if target.Scope != "" && target.Scope != api.Unscoped {
		return out, badRequest("write - for its scope", "%s names a scope, and a %s is in no scope", target, kind)
	}
	return do(target.Name)
}

// revisionOf returns the revision of what a verb stored.
func revisionOf(answer any) int64 {
	switch a := answer.(type) {
	case api.VerbResult:
		return a.Revision
	case api.StopResult:
		return a.Revision
	case api.RunResult:
		return a.Revision
	case api.LabResult:
		return a.Revision
	case api.NodeDownResult:
		return a.Revision
	}
	return 0
}

// The parameters of verbs.
type (
	scaleQuery struct {
		VerbPath
		Replicas       int  `query:"replicas" required:"true"`
		ForceConflicts bool `query:"force_conflicts"`
	}
	rebootstrapQuery struct {
		VerbPath
		Ordinal int `query:"ordinal" required:"true"`
	}
	rollbackQuery struct {
		VerbPath
		Release        string `query:"release"`
		WithConfig     bool   `query:"with_config"`
		DryRun         bool   `query:"dry_run"`
		ForceConflicts bool   `query:"force_conflicts"`
	}
	buildQuery struct {
		VerbPath
		Tree  string `query:"tree" required:"true"`
		Force bool   `query:"force"`
	}
	stopQuery struct {
		VerbPath
		Freeze bool `query:"freeze"`
	}
	extendQuery struct {
		VerbPath
		For string `query:"for" required:"true"`
	}
	approveQuery struct {
		VerbPath
		Reason string `query:"reason" doc:"why, for the audit and the claim"`
		Valid  string `query:"valid" doc:"how long the approval is valid, 24h by default"`
		Deny   bool   `query:"deny"`
		// UID and Generation bind the decision to what the person saw.
		UID        string `query:"uid" doc:"the operation's metadata.uid, which an approval needs: another operation of the name is not approved"`
		Generation int64  `query:"generation" doc:"the generation that was seen, which an approval needs: another one is not approved"`
	}
)

// verbRoutes registers what can be asked of an object. The kinds that a verb is for are checked where it is decided.
func (s *Server) verbRoutes() {
	verb(s, "scale", "Set the replicas of a workload",
		func(ctx context.Context, target verbs.Target, in scaleQuery) (api.VerbResult, error) {
			return s.Verbs.Scale(ctx, target, in.Replicas,
				verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts})
		})
	serviceVerb(s, "restart", "Replace every pod, by the workload's strategy", (*verbs.Service).Restart)
	verb(s, "rebootstrap", "Recreate one ordinal of a statefulset with empty volumes",
		func(ctx context.Context, target verbs.Target, in rebootstrapQuery) (api.VerbResult, error) {
			return s.Verbs.Rebootstrap(ctx, target, in.Ordinal, actorOf(ctx))
		})
	verb(s, "rollback", "Return to an earlier release",
		func(ctx context.Context, target verbs.Target, in rollbackQuery) (api.VerbResult, error) {
			return s.Verbs.Rollback(ctx, target, verbs.RollbackOptions{
				Release: in.Release, WithConfig: in.WithConfig, DryRun: in.DryRun,
				FieldManager: verbs.FieldManager{Actor: actorOf(ctx), ForceConflicts: in.ForceConflicts},
			})
		})
	verb(s, "build", "Have an object built from a source that was sent as a blob",
		func(ctx context.Context, target verbs.Target, in buildQuery) (api.VerbResult, error) {
			return s.Verbs.SetBuild(ctx, target, in.Tree, in.Force, actorOf(ctx))
		})
	verb(s, "stop", "Stop all pods of an object; with freeze they stay stopped",
		func(ctx context.Context, target verbs.Target, in stopQuery) (api.StopResult, error) {
			return s.stopObject(ctx, target, in.Freeze)
		})
	plainVerb(s, "start", "Let all frozen pods of an object run again",
		func(ctx context.Context, target verbs.Target, _ string) (api.StopResult, error) {
			return s.thaw(ctx, target, nil)
		})
	serviceVerb(s, "run", "Ask for a run of a job, or of a cron job whatever its schedule says", (*verbs.Service).Run)
	serviceVerb(s, "run-release", "Run the release command of what is in force again", (*verbs.Service).RunRelease)
	verb(s, "extend", "Give a lab, or the labs of a class, more time", s.extendLabs)
	serviceVerb(s, "end", "End a lab, or the labs of a class, before their time is over", (*verbs.Service).StopLabs)
	serviceVerb(s, "reconcile", "Send an application of a Kubernetes cluster there again, and reconcile it there at once",
		(*verbs.Service).Reconcile)
	verb(s, "approve", "Approve an operation that waits for it; with deny end it instead", s.approveOperation)
	serviceVerb(s, "poll", "Poll the source of a sync at once", (*verbs.Service).SyncNow)
	plainVerb(s, "test", "Send a test to a sink's receiver and say what came back",
		func(ctx context.Context, target verbs.Target, _ string) (api.SinkTest, error) {
			return only(target, api.KindSink, func(name string) (api.SinkTest, error) { return s.testSink(ctx, name) })
		})
	verb(s, "token",
		"Make a token with which the operator of a Kubernetes cluster registers, valid for ttl (default 24h)",
		func(ctx context.Context, target verbs.Target, in inviteQuery) (api.ClusterRegistration, error) {
			return only(target, api.KindCluster, func(name string) (api.ClusterRegistration, error) {
				return s.inviteCluster(ctx, name, in)
			})
		})
	s.nodeVerbs()
	s.trafficVerbs()
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

// stopTask has the task's node stop its container. Freezing needs no node: it is an intent like any other.
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
