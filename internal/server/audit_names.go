package server

import (
	"context"
	"net/url"
	"strings"

	"tend.dev/tend/api"
)

// auditNames collects the objects that a call concerns, from its body and from its answer.
type auditNames struct {
	// ref is the single object that the answer names, or the object of the pod in the call.
	ref     api.Ref
	objects []string
	more    int
}

type auditKey struct{}

// noteObjects adds the objects of an apply to its audit.
func noteObjects(ctx context.Context, objects []api.Object) {
	refs := make([]api.Ref, len(objects))
	for i, object := range objects {
		refs[i] = object.Ref()
	}
	noteRefs(ctx, refs...)
}

// noteRefs adds objects to the audit of a call.
func noteRefs(ctx context.Context, refs ...api.Ref) {
	named, ok := ctx.Value(auditKey{}).(*auditNames)
	if !ok {
		return
	}
	for _, ref := range refs {
		if len(named.objects) == api.MaxAuditObjects {
			named.more++
			continue
		}
		named.note(ref.String())
	}
}

// noteToken adds a token of a person or a program to the audit of a call, also if the call is refused then.
func noteToken(ctx context.Context, name string) {
	if named, ok := ctx.Value(auditKey{}).(*auditNames); ok {
		named.note("token/" + name)
	}
}

func (n *auditNames) note(text string) {
	n.objects = append(n.objects, text[:min(len(text), maxAuditActor)])
}

// notePod adds the owner of a pod to the audit of a call, also if the call is refused later.
func notePod(ctx context.Context, owner api.Ref) {
	if named, ok := ctx.Value(auditKey{}).(*auditNames); ok {
		named.ref = owner
	}
}

// podOfPath returns the pod that a path names.
func podOfPath(path string) string {
	rest, _ := strings.CutPrefix(path, "/v1/pods/")
	pod, _, found := strings.Cut(rest, "/")
	if !found || rest == path {
		return ""
	}
	return pod
}

// noteAnswer adds the objects that an answer names: the request may have left out the kind and the scope, or have meant
// several objects.
func noteAnswer(ctx context.Context, answer any) {
	named, ok := ctx.Value(auditKey{}).(*auditNames)
	if !ok {
		return
	}
	switch a := answer.(type) {
	case api.VerbResult:
		named.ref = a.Object
	case api.StopResult:
		named.ref = a.Object
	case api.RunResult:
		named.ref = a.Run.Owner()
	case api.NodeDownResult:
		named.ref = api.Ref{Kind: api.KindNode, Scope: api.Unscoped, Name: a.Node}
	case api.SinkTest:
		named.ref = api.Ref{Kind: api.KindSink, Scope: api.Unscoped, Name: a.Sink}
	case api.ClusterRegistration:
		named.ref = api.Ref{Kind: api.KindCluster, Scope: api.Unscoped, Name: a.Cluster}
	case api.DeleteResult:
		named.ref = a.Object
		if len(a.Pruned) > 0 {
			noteRefs(ctx, append([]api.Ref{a.Object}, a.Pruned...)...)
		}
	case api.ApplyResult:
		noteRefs(ctx, a.Pruned...)
	case api.LabResult:
		for _, changed := range a.Labs {
			noteRefs(ctx, changed.Lab)
		}
	}
}

func (n *auditNames) add(data *api.AuditData) {
	if n.ref.Name != "" {
		data.Kind, data.Scope, data.Name = n.ref.Kind, n.ref.Scope, n.ref.Name
	}
	data.Objects, data.MoreObjects = n.objects, n.more
}

// nameTokens isn't the name of a node: tokens are made at that path.
const nameTokens = "tokens"

// namedBy returns the object that a call names in its query, its path, or both. Parts that neither names stay empty.
func namedBy(path string, query url.Values) api.Ref {
	ref := api.Ref{Kind: api.Kind(query.Get("kind")), Scope: query.Get("scope"), Name: query.Get("name")}
	if rest, found := strings.CutPrefix(path, "/v1/nodes/"); found {
		ref.Kind = api.KindNode
		ref.Name, _, _ = strings.Cut(rest, "/")
	}
	if rest, found := strings.CutPrefix(path, "/v1/objects/"); found {
		if parts := strings.Split(rest, "/"); len(parts) == 3 || len(parts) == 4 {
			ref = api.Ref{Kind: api.Kind(orEmpty(parts[0])), Scope: orEmpty(parts[1]), Name: parts[2]}
		}
	}
	if known, err := kindOf(string(ref.Kind)); err == nil {
		ref.Kind = known
	}
	if ref.Kind == api.KindNode && ref.Name == nameTokens {
		return api.Ref{}
	}
	if ref.Kind.Info().Scope == api.ScopeNone && ref.Kind.Core() && ref.Name != "" && ref.Scope == "" {
		ref.Scope = api.Unscoped
	}
	return ref
}
