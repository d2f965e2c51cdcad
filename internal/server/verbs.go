package server

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verb"
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

// leftOut is the placeholder for an omitted part of a path.
const leftOut = "-"

// orEmpty returns a part of a path; "" if it is omitted.
func orEmpty(part string) string {
	if part == leftOut {
		return ""
	}
	return part
}

// verbRoutes registers the verbs of objects. The kinds of a verb are checked where the verb decides, except for kinds
// in no scope.
func (s *Server) verbRoutes() {
	for _, v := range verbs.All() {
		s.mount(v.Verb, func(ctx context.Context, target verbs.Target, input any) (any, error) {
			return v.Do(ctx, s.Verbs, target, actorOf(ctx), input)
		})
	}
	for _, v := range ownVerbs {
		s.mount(v.Verb, func(ctx context.Context, target verbs.Target, input any) (any, error) {
			return v.do(s, ctx, target, input)
		})
	}
}

// ownVerbs lists the verbs that also reach containers or receivers, not only the service.
var ownVerbs []ownVerb

// Verbs returns all verbs of objects.
func Verbs() (out []verb.Verb) {
	for _, v := range verbs.All() {
		out = append(out, v.Verb)
	}
	for _, v := range ownVerbs {
		out = append(out, v.Verb)
	}
	return out
}

// ownVerb is a verb that the server itself carries out, since it reaches nodes or receivers.
type ownVerb struct {
	verb.Verb
	do func(s *Server, ctx context.Context, target verbs.Target, input any) (any, error)
}

// declare adds a verb of the server's own.
func declare[In, Out any](v verb.Verb, do func(*Server, context.Context, verbs.Target, In) (Out, error)) ownVerb {
	own := ownVerb{verb.Of[In, Out](v), func(s *Server, ctx context.Context, target verbs.Target, input any) (any, error) {
		return do(s, ctx, target, *input.(*In))
	}}
	ownVerbs = append(ownVerbs, own)
	return own
}

// mount registers a verb at the path that ends with its name.
func (s *Server) mount(v verb.Verb, do func(context.Context, verbs.Target, any) (any, error)) {
	s.rules["POST "+v.Path()] = v.Rule
	const unless = ", or - where the rest is unambiguous"
	schemas := s.api.OpenAPI().Components.Schemas
	at := []*huma.Param{parameterOf("path", "kind", "its kind"+unless), parameterOf("path", "scope", "its scope"+unless),
		parameterOf("path", "name", "")}
	for _, p := range verb.Parameters(v.In) {
		param := parameterOf("query", p.Name, p.Doc)
		if param.Required, param.Explode = p.Required, new(bool); p.Type != reflect.TypeFor[time.Duration]() {
			param.Schema = schemas.Schema(p.Type, true, p.Name)
			param.Schema.Description = p.Doc
		}
		at = append(at, param)
	}
	answer := map[string]*huma.Schema{"application/json": schemas.Schema(v.Out, true, v.Out.Name())}
	s.documented("POST", v.Path(), v.Summary, shape{at: at, answers: replies("OK", answer)},
		func(w http.ResponseWriter, r *http.Request) {
			out, err := s.askedOf(r, v, do)
			if err != nil {
				s.fail(w, r, err)
				return
			}
			noteAnswer(r.Context(), out)
			writeJSON(w, http.StatusOK, out)
		})
}

// parameterOf returns the description of a text in the path or in the query.
func parameterOf(in, name, doc string) *huma.Param {
	return &huma.Param{Name: name, In: in, Description: doc, Required: in == "path",
		Schema: &huma.Schema{Type: huma.TypeString, Description: doc}}
}

// askedOf carries out the verb that a request is for.
func (s *Server) askedOf(
	r *http.Request, v verb.Verb, do func(context.Context, verbs.Target, any) (any, error),
) (any, error) {
	input := reflect.New(v.In).Interface()
	query, err := plainQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, fault := range verb.Decode(query, input) {
		faults = append(faults, &huma.ErrorDetail{Location: "query." + fault.Name, Message: fault.Detail})
	}
	if len(faults) > 0 {
		return nil, problemOfHuma(http.StatusBadRequest, "validation failed", faults).Problem
	}
	target, err := TargetQuery{Kind: orEmpty(r.PathValue("kind")), Scope: orEmpty(r.PathValue("scope")),
		Name: r.PathValue("name")}.target()
	if err == nil && v.Kind != "" && v.Kind.Info().Scope == api.ScopeNone {
		target, err = inNoScope(target, v.Kind)
	}
	if err != nil {
		return nil, err
	}
	out, err := do(r.Context(), target, input)
	if err != nil {
		return nil, err
	}
	s.settle(r.Context(), revisionOf(out))
	return out, nil
}

// inNoScope returns the target of a verb of a kind whose objects are in no scope.
func inNoScope(target verbs.Target, kind api.Kind) (verbs.Target, error) {
	if target.Kind != "" && target.Kind != kind {
		return target, badRequest("name a "+string(kind), "%s has another kind", target)
	}
	if target.Scope != "" && target.Scope != api.Unscoped {
		return target, badRequest("write - for its scope", "%s names a scope, and a %s is in no scope", target, kind)
	}
	return verbs.Target{Kind: kind, Scope: api.Unscoped, Name: target.Name}, nil
}

// revisionOf returns the revision of a verb's write.
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

// releases returns the releases to which a rollback can return.
func (s *Server) releases(_ context.Context, in *TargetQuery) (api.ListResult[api.ReleaseInfo], error) {
	var none api.ListResult[api.ReleaseInfo]
	snap, ref, err := s.resolved(in)
	if err != nil {
		return none, err
	}
	return api.ListResult[api.ReleaseInfo]{Items: s.releaseInfos(snap, ref), Revision: snap.Revision()}, nil
}

// stopTask makes the task's node stop its container. Freezing needs no node: it is stored like any other intent.
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
