package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
	coresource "tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/store/records"
)

// checkedMux registers the routes of the API, each behind the check of the caller's rights: no route can be registered
// without it.
type checkedMux struct{ *Server }

// HandleFunc registers a route.
func (m checkedMux) HandleFunc(route string, handle func(http.ResponseWriter, *http.Request)) {
	m.patterns = append(m.patterns, route)
	m.mux.HandleFunc(route, m.allowed(route, handle))
}

// ServeHTTP answers a request.
func (m checkedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Routes returns the routes of the API, as package access has them.
func (s *Server) Routes() []string { return s.patterns }

// Rules returns the rights that each route requires.
func (s *Server) Rules() access.Table { return s.rules }

// allowed answers the calls of a route that the caller may make, and refuses the others.
func (s *Server) allowed(route string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		grant := callerOf(r.Context()).grant
		if grant.Role == api.Admin {
			next(w, r)
			return
		}
		r, call, err := s.callOf(route, grant, r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if refused := s.rules.Allow(grant, call); refused != nil {
			s.fail(w, r, refused)
			return
		}
		ctx := r.Context()
		if verbs.RightsOf(ctx).Trusted { // else they are those for which a plugin's client calls (withinCall)
			ctx = verbs.WithRights(ctx, coresource.Rights{Person: grant.String(), Scopes: grant.Scopes, HostPaths: s.HostPaths})
		}
		if of := s.account(ctx); of != nil {
			ctx = verbs.WithSent(ctx, of.has)
		}
		next(w, r.WithContext(ctx))
	}
}

// callOf returns the rights-relevant part of a request. If the grant is for one scope and the request names none,
// callOf adds that scope to the returned request.
func (s *Server) callOf(route string, grant access.Grant, r *http.Request) (*http.Request, access.Call, error) {
	query, err := plainQuery(r.URL.RawQuery)
	if err != nil {
		return r, access.Call{}, err
	}
	call := access.Call{Route: route, Scope: r.PathValue("scope")}
	if r.Method == http.MethodDelete {
		call.Kind, _ = api.ParseKind(r.PathValue("kind")) // the handler refuses an unknown kind
	}
	bound := s.rules[route].Bound
	switch {
	case bound == access.OfPod:
		call.Scope = s.scopeOfPod(r.PathValue("pod"))
	case call.Scope == leftOut && bound == access.Named:
		if call.Scope = grant.Only(); call.Scope != "" {
			r.SetPathValue("scope", call.Scope)
		}
	case call.Scope == "" && (bound == access.Named || bound == access.Filtered):
		if only := grant.Only(); only != "" && query.Get("scope") == "" {
			query.Set("scope", only)
		}
		call.Scope = query.Get("scope")
	}
	for name := range query {
		call.Parameters = append(call.Parameters, name)
	}
	address := *r.URL
	address.RawQuery = query.Encode()
	r = r.WithContext(r.Context()) // a copy
	r.URL = &address
	return r, call, nil
}

// plainQuery returns a query that every parser reads alike: each parameter occurs once, has a value, and is escaped as
// usual. The check of rights and the handler must read the same.
func plainQuery(raw string) (url.Values, error) {
	parsed, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("escape the parameters", "malformed query: %v", err)
	}
	out := url.Values{}
	for name, values := range parsed {
		if len(values) > 1 {
			return nil, badRequest("give it once", "parameter %s is given %d times", clip(name), len(values))
		}
		if values[0] != "" {
			out.Set(name, values[0])
		}
	}
	for part := range strings.SplitSeq(raw, "&") {
		if name, err := url.QueryUnescape(part); err == nil && part != "" && !strings.Contains(part, "=") {
			out.Set(name, "true") // ?follow is ?follow=true
		}
	}
	return out, nil
}

// scopeOfPod returns the scope of a pod's object; empty if there is no such pod.
func (s *Server) scopeOfPod(pod string) string {
	snap, err := s.snapshot()
	if err != nil {
		return ""
	}
	owner, _, _ := ownerOfPod(snap, pod) // the pod itself may be gone
	return owner.Scope
}

// checkCommand returns the reason why a caller may not run a command in a pod, or nil. A command can use everything
// that the pod has.
func (s *Server) checkCommand(ctx context.Context, snap records.Snapshot, task *api.Task) error {
	rights := verbs.RightsOf(ctx)
	if rights.Trusted {
		return nil
	}
	if refused := access.AllowScope(callerOf(ctx).grant, task.Scope); refused != nil {
		return refused
	}
	object, release := snap.Object(task.Owner()), snap.ReleaseOf(*task)
	if !object.Exists() || !release.Exists() { // the pod's rights are unknown
		return notLive(task.ContainerName())
	}
	fault := s.Verbs.RefuseInside(rights, snap, *object.Value, []records.Read[api.Task]{{Value: task}})
	if fault == nil {
		return nil
	}
	return &api.Problem{Type: api.ProblemType + "Forbidden", Title: "Forbidden", Status: http.StatusForbidden,
		Detail: fault.Message, Next: "ask an admin to run it"}
}
