package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/env"
	coresource "tend.dev/tend/internal/core/source"
	"tend.dev/tend/internal/platform/routemux"
	"tend.dev/tend/internal/store/records"
)

// Plugins and their containers call the callback paths: few, with the predecessor's names, each limited by the caller's
// token. Separate listeners serve them, under /t/<token>; no other listener does.

// grant is the set of objects and buckets that a caller may access.
type grant struct {
	// all allows everything: the caller came through a listener of the API.
	all bool
	// scopes lists the scopes whose objects and buckets the caller may use. name limits it to one object in them; empty
	// means all.
	scopes []string
	name   string
	// reader is the object whose containers call; the zero value for other callers.
	reader api.Ref
	// plugin is the plugin whose commands it may run. If empty, a container (with a name) may run no command, other
	// callers all.
	plugin string
	// dry refuses everything but reads: a dry run must have no effect.
	dry   bool
	actor string
	// admit, of a container, is asked before a call is answered; see Callbacks. Default: each is.
	admit func(w http.ResponseWriter, r *http.Request) (leave func(), err error)
	// rights are those of the verbs that the caller causes. The zero value has none about the host, the cluster or any
	// scope.
	rights coresource.Rights
}

// enter returns an error if a call is not answered now, else what is to be called once it is.
func (g grant) enter(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	if g.admit == nil {
		return func() {}, nil
	}
	return g.admit(w, r)
}

// allows returns an error unless the grant covers an object or a bucket; an empty name is the scope's own bucket.
func (g grant) allows(scope, name string) error {
	if g.all || slices.Contains(g.scopes, scope) && (g.name == "" || g.name == name) {
		return nil
	}
	return &api.Problem{Status: http.StatusForbidden, Detail: "this token is not allowed to access " +
		clip(scope+"/"+name),
		Next: "a plugin reaches the scopes its command names, a container its own object"}
}

// refersTo reports whether the object of a container's token refers to another object of its scope: by env_from, by
// ${ref.…} or by depends_on. Its containers may describe that object.
func (g grant) refersTo(snap records.Snapshot, scope, name string) bool {
	if g.name == "" || name == "" || !slices.Contains(g.scopes, scope) {
		return false
	}
	for _, kind := range api.Kinds {
		own := snap.Object(api.Ref{Kind: kind, Scope: scope, Name: g.name})
		if !kind.HasSlots() || !own.Exists() {
			continue
		}
		if env.ReadBy(*own.Value, env.Bucket{Scope: scope, Name: name}) {
			return true
		}
		for _, other := range api.Kinds {
			ref := api.Ref{Kind: other, Scope: scope, Name: name}
			isOwn := func(object records.Read[api.Object]) bool { return object.Value.Ref() == own.Value.Ref() }
			if slices.Contains(snap.Dependents(ref), own.Value.Ref()) || slices.ContainsFunc(snap.Referring(ref), isOwn) {
				return true
			}
		}
	}
	return false
}

// narrow limits a command to the grant: the objects it names, and the targets of its actions.
func (g grant) narrow(b *broker.Broker, ask *broker.Command) error {
	if g.all {
		return nil
	}
	ask.Within = append([]string{}, g.scopes...) // never nil, which would be everything
	for _, scope := range broker.Scopes(ask.Args) {
		if !slices.Contains(g.scopes, scope) {
			return g.allows(scope, "")
		}
	}
	if g.plugin == "" && g.name == "" {
		return nil
	}
	asked, err := b.NameOf(ask.Plugin)
	if err != nil {
		return err
	}
	if own, err := b.NameOf(g.plugin); g.plugin == "" || err != nil || own != asked {
		return &api.Problem{Status: http.StatusForbidden,
			Detail: "this token is not allowed to access the plugin " + clip(asked),
			Next:   "a container runs the commands of the plugin that wrote its manifest"}
	}
	return nil
}

// callbackRoutes returns the handlers of the callback paths, for requests with a grant in their context.
func (s *Server) callbackRoutes() *routemux.Mux {
	mux := routemux.New()
	granted := func(pattern string, handle func(http.ResponseWriter, *http.Request, grant)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			g, _ := r.Context().Value(grantKey{}).(grant)
			handle(w, r, g)
		})
	}
	granted("GET /health", s.callbackHealth)
	granted("GET /describe", s.callbackDescribe)
	granted("GET /config", s.callbackConfig)
	granted("POST /config", s.callbackSetConfig)
	granted("DELETE /config", s.callbackUnsetConfig)
	granted("DELETE /resource", s.callbackResource)
	granted("POST /restart", s.callbackRestart)
	granted("POST /plugin/{name}/{command}", s.command)
	granted("POST /plugins/exec", s.callbackExec)
	return mux
}

// CallbackRoutes returns the patterns of the callback paths.
func (s *Server) CallbackRoutes() []string { return s.callbackRoutes().Patterns() }

// callbacks serves the callback paths to callers whose token resolve accepts.
func (s *Server) callbacks(resolve func(token string) (grant, bool)) http.Handler {
	mux := s.callbackRoutes()
	return identified(s.recovered(http.HandlerFunc(func(writer http.ResponseWriter, r *http.Request) {
		began, w, panics := time.Now(), &answer{ResponseWriter: writer, status: http.StatusOK}, true
		closeAfterChunks(w, r)
		token, path, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/t/"), "/")
		g, known := resolve(token)
		defer func() { // the log line must not contain the token
			if panics {
				w.status = http.StatusInternalServerError // recovered answers with status 500
			}
			s.logRequest(r, "/"+path, g.actor, w.status, began)
			s.auditCallback(r, "/"+path, g, known, w.status, began)
		}()
		if !found || !known || !strings.HasPrefix(r.URL.Path, "/t/") {
			s.failEnvelope(w, r, &api.Problem{Status: http.StatusUnauthorized, Detail: "the token is missing or wrong",
				Next: "call the URL in TEND_CONTROLLER_URL with the path behind it"})
		} else if leave, err := g.enter(w, r); err != nil {
			s.failEnvelope(w, r, err)
		} else {
			defer leave()
			s.callback(mux, w, r, g, "/"+path)
		}
		panics = false
	})))
}

// callback answers a call of an identified caller, within its grant.
func (s *Server) callback(mux *routemux.Mux, w http.ResponseWriter, r *http.Request, g grant, path string) {
	if g.dry && r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.failEnvelope(w, r, &api.Problem{Status: http.StatusForbidden, Detail: "this is a dry run: nothing can be changed",
			Next: "a plugin sees TEND_DRY_RUN=1 in one; changes belong into actions"})
		return
	}
	within := r.Clone(verbs.WithRights(context.WithValue(r.Context(), grantKey{}, g), g.rights))
	within.URL.Path, within.URL.RawPath = path, ""
	if handler, pattern := mux.Handler(within); pattern == "" {
		refused := &refusal{header: http.Header{}, status: http.StatusNotFound}
		handler.ServeHTTP(refused, within) // 405 if only the method is wrong
		s.failEnvelope(w, r, &api.Problem{Status: refused.status, Detail: r.Method + " " + clip(path) +
			" is not part of the callback paths",
			Next: "docs/use/plugins.md lists them"})
		return
	}
	mux.ServeHTTP(w, within)
}

type grantKey struct{}

func writeEnvelope(w http.ResponseWriter, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		writeJSON(w, http.StatusInternalServerError, api.Envelope{Status: "error", Error: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, api.Envelope{Status: "ok", Data: raw})
}

// failEnvelope is fail with an envelope as the body, and the status that plugins expect.
func (s *Server) failEnvelope(w http.ResponseWriter, r *http.Request, err error) {
	problem := problemOf(err)
	if problem.Status == http.StatusInternalServerError {
		s.Logger.Error("request failed", "method", r.Method, "path", routeOf(r), "error", err)
	}
	writeFault(w, statusOf(err, problem.Status), err)
}

func writeFault(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, api.Envelope{Status: "error", Error: problemOf(err).Error()})
}

// statusOf returns the status of an error, as scripts around plugins expect it: 404 for a missing plugin, 400 for any
// other fault of a plugin or its command, 500 for a failed action.
func statusOf(err error, status int) int {
	var action *broker.ActionError
	var fault *plugin.Error
	switch {
	case errors.As(err, &action):
		return http.StatusInternalServerError
	case errors.As(err, &fault) && fault.Reason != plugin.NotFound && fault.Reason != plugin.Busy:
		return http.StatusBadRequest
	}
	return status
}

// routeOf returns a request's path for the log: without a token.
func routeOf(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/t/") {
		return "/t/…"
	}
	return r.URL.Path
}
