package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/store/records"
)

// objects lists or watches the objects of a kind.
func (s *Server) objects(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	wanted := objectFilter{scope: q.text("scope"), visible: visible(r.Context())}
	selector, err := parseSelector(q.text("selector"))
	watch, since := q.boolean("watch"), q.integer("since", 0, 0)
	if fault := q.done(); fault != nil {
		err = fault
	}
	wanted.selector = selector
	if err == nil {
		wanted.kind, err = kindOf(r.PathValue("kind"))
	}
	if err == nil && since != 0 && !watch {
		err = badRequest("add watch=1", "since belongs to a watch")
	}
	if last := r.Header.Get("Last-Event-ID"); err == nil && watch && last != "" {
		since, err = lastRevision(last)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if watch {
		s.watch(w, r, wanted, since)
		return
	}
	snap, err := s.snapshot()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, api.ListResult[api.Object]{Items: wanted.list(snap), Revision: snap.Revision()})
}

// lastRevision returns the revision that a client of server-sent events reconnects with. It repeats its first URL, so
// this wins over since.
func lastRevision(id string) (int64, error) {
	revision, err := strconv.ParseInt(id, 10, 64)
	if err != nil || revision < 0 {
		return 0, badRequest("send the id of the last event", "the header Last-Event-ID is %s, which is not a revision", clip(id))
	}
	return revision, nil
}

// objectFilter chooses objects.
type objectFilter struct {
	kind  api.Kind
	scope string
	// visible are the scopes that the caller sees; nil is all.
	visible  []string
	selector selector
}

// within reports whether the filter selects a scope.
func (f objectFilter) within(scope string) bool {
	return (f.scope == "" || f.scope == scope) && (f.visible == nil || slices.Contains(f.visible, scope))
}

func (f objectFilter) wants(o api.Object) bool {
	return o.Kind == f.kind && f.within(o.Scope) && f.selector.matches(o.Metadata.Labels)
}

func (f objectFilter) list(snap records.Snapshot) []api.Object {
	out := []api.Object{}
	for read := range snap.Objects(f.kind) {
		if f.wants(*read.Value) {
			out = append(out, withStatus(snap, *read.Value))
		}
	}
	return out
}

// withStatus joins an object with its status.
func withStatus(snap records.Snapshot, object api.Object) api.Object {
	record, ok := snap.Get(records.StatusKey(object.Ref()))
	if !ok {
		return object
	}
	switch value := record.Value.(type) {
	case []byte:
		object.Status = value
	case *api.SinkStatus:
		status := *value
		if progress := snap.SinkProgress(object.Ref()); progress.Exists() && progress.Value.UID == object.Metadata.UID {
			status.Progress = progress.Value
		}
		object.Status, _ = json.Marshal(status)
	case *api.ClusterStatus:
		status := *value
		if contact := snap.ClusterContact(object.Name); contact.Exists() && contact.Value.UID == object.Metadata.UID {
			status.Contact = contact.Value
		}
		object.Status, _ = json.Marshal(status)
	case *api.WorkloadStatus:
		status := *value
		status.Autoscale = snap.AutoscaleStatus(object.Ref()).Value
		status.Unknown = unknownPods(snap, object.Ref())
		status.Ready = max(status.Ready-status.Unknown, 0)
		object.Status, _ = json.Marshal(status)
	default:
		object.Status, _ = json.Marshal(value)
	}
	return object
}

// ObjectPath is the path of one object.
type ObjectPath struct {
	Kind  string `path:"kind"`
	Scope string `path:"scope"`
	Name  string `path:"name"`
}

func (p ObjectPath) ref() (api.Ref, error) {
	kind, err := kindOf(p.Kind)
	return api.Ref{Kind: kind, Scope: p.Scope, Name: p.Name}, err
}

func (s *Server) object(_ context.Context, in *ObjectPath) (api.Object, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.Object{}, err
	}
	ref, err := in.ref()
	if err != nil {
		return api.Object{}, err
	}
	if ref, err = verbs.TargetOf(ref).Resolve(snap); err != nil {
		return api.Object{}, err
	}
	return withStatus(snap, *snap.Object(ref).Value), nil
}

// Deletion is the path of an object, and the options of its deletion.
type Deletion struct {
	ObjectPath
	Prune   bool `query:"prune" doc:"remove the config of its own bucket too"`
	Volumes bool `query:"volumes" doc:"remove the volumes of its ordinals too, with all that they hold"`
	Orphan  bool `query:"orphan" doc:"don't ask its Kubernetes cluster: what was applied there stays; of a cluster, of all that is in it"`
	DryRun  bool `query:"dry_run" doc:"say what would go and what depends on it; delete nothing"`
}

func (s *Server) deleteObject(ctx context.Context, in *Deletion) (api.DeleteResult, error) {
	ref, err := in.ref()
	if err != nil {
		return api.DeleteResult{}, err
	}
	result, err := s.Verbs.DeleteWith(ctx, verbs.TargetOf(ref),
		verbs.DeleteOptions{Prune: in.Prune, Volumes: in.Volumes, Orphan: in.Orphan, DryRun: in.DryRun, Actor: actorOf(ctx)})
	s.settle(ctx, result.Revision)
	return result, err
}

// kindOf parses a kind as users type it.
func kindOf(text string) (api.Kind, error) {
	kind, err := api.ParseKind(text)
	if err != nil {
		names := make([]string, len(api.Kinds))
		for i, k := range api.Kinds {
			names[i] = string(k)
		}
		slices.Sort(names)
		detail := err.Error()
		if hint := suggest.Question(text, names); hint != "" {
			detail += "; " + hint
		}
		return "", &api.Problem{Status: http.StatusNotFound, Detail: detail, Next: "kinds are " + strings.Join(names, ", ")}
	}
	return kind, nil
}
