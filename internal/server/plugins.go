package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/access"
)

// installTime bounds an installation with its hook.
const installTime = 16 * time.Minute

// callTime bounds a call of a plugin, and what it asks while it runs.
func (s *Server) callTime() time.Duration {
	if s.Plugins == nil || s.Plugins.Root == nil {
		return time.Minute
	}
	return s.Plugins.Root.CallTime()
}

// takesTime extends a request's deadlines, also the one for reading: it would end the request's context while the
// handler works, because the server reads from the connection to notice a client that disconnects.
func takesTime(w http.ResponseWriter, d time.Duration) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(d))
	_ = control.SetWriteDeadline(time.Now().Add(d))
}

// pluginRoutes registers the plugins' paths.
func (s *Server) pluginRoutes() {
	typed(s, "GET", "/v1/plugins", "List plugins, including broken ones", s.plugins)
	s.documented("POST", "/v1/plugins", "Install a plugin, or replace it",
		shape{takes: inJSON[api.PluginInstall](s), answers: replies("the plugin", inJSON[api.Plugin](s))}, s.installPlugin)
	s.documented("DELETE", "/v1/plugins/{name}", "Remove a plugin; the objects of its macros stay",
		shape{answers: replies("what was removed", inJSON[api.PluginRemoval](s))}, s.removePlugin)
	s.documented("POST", "/plugin/{name}/{command}", "Run a plugin's command and perform the actions in its answer",
		shape{takes: inJSON[api.PluginCall](s), answers: s.envelopes()}, s.callPlugin)
}

// envelopes describes the answers of a plugin's command. The plugin's failures are envelopes too; a call that is
// refused before the plugin is asked answers a problem.
func (s *Server) envelopes() map[int]reply {
	out := replies("what the command said", inJSON[api.Envelope](s))
	for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict,
		http.StatusRequestEntityTooLarge, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		body := inJSON[api.Envelope](s)
		body["application/problem+json"] = of[shownProblem](s)
		out[status] = reply{"why it failed", body}
	}
	return out
}

func (s *Server) broker() (*broker.Broker, error) {
	if s.Plugins == nil {
		return nil, &api.Problem{Status: http.StatusServiceUnavailable, Detail: "this server has no plugins",
			Next: "start it with a folder for them (--plugins)"}
	}
	return s.Plugins, nil
}

// applyObjects stores objects. A macro is replaced by its objects.
func (s *Server) applyObjects(
	ctx context.Context, objects []api.Object, opts verbs.ApplyOptions,
) (api.ApplyResult, error) {
	if !hasMacros(objects) {
		return s.Verbs.Apply(ctx, objects, opts)
	}
	b, err := s.broker()
	if err != nil {
		return api.ApplyResult{}, err
	}
	return b.Apply(calledBy(ctx, opts.Actor), objects, opts, s.loopbackEndpoint(opts.Actor, opts.DryRun))
}

// calledBy returns a context with the caller of a plugin. The context may already name the call that this one is part
// of.
func calledBy(ctx context.Context, actor string) context.Context {
	origin := plugin.OriginOf(ctx)
	origin.Caller = actor
	return plugin.From(ctx, origin)
}

// pluginCall is the header in which a client that a plugin runs names the call it belongs to.
const pluginCall = "Tend-Plugin-Call"

// withinCall adds to a request the plugin call it is part of, with the rights of that call's caller. Where containers
// made the call, the request is one of a deployer of their scope, whatever its sender may do. Within a dry run, it must
// not change anything; once the call has ended, it does nothing at all.
func (s *Server) withinCall(r *http.Request) (*http.Request, error) {
	id := r.Header.Get(pluginCall)
	if id == "" {
		return r, nil
	}
	var root *plugin.Root
	if s.Plugins != nil {
		root = s.Plugins.Root
	}
	ctx, asked, dryRun, err := root.Enter(r.Context(), id)
	if err != nil {
		return r, err
	}
	dry, _ := strconv.ParseBool(r.URL.Query().Get("dry_run"))
	if question := r.Method == http.MethodGet || r.Method == http.MethodHead || dry; !question && dryRun {
		return r, &api.Problem{Status: http.StatusForbidden,
			Detail: "a plugin asks for a change within a dry run: nothing can be changed",
			Next:   "a plugin sees TEND_DRY_RUN=1 in one; changes belong into actions"}
	}
	if rights := verbs.RightsOf(asked); !rights.Trusted {
		asking := access.Grant{Name: rights.Person, Role: api.Deployer, Scopes: rights.Scopes, Containers: true}
		ctx = withCaller(verbs.WithRights(ctx, rights), caller{grant: callerOf(ctx).grant.Within(asking)})
	}
	return r.WithContext(ctx), nil
}

func hasMacros(objects []api.Object) bool {
	return slices.ContainsFunc(objects, func(o api.Object) bool { return !o.Kind.Core() })
}

// applyTime returns the time that an apply may take: it may fetch assets, and install and call plugins.
func applyTime(objects []api.Object) time.Duration {
	if hasMacros(objects) {
		return api.MaxFetch + installTime
	}
	return api.MaxFetch + requestTime
}

func (s *Server) plugins(context.Context, *struct{}) (api.ListResult[api.Plugin], error) {
	var out api.ListResult[api.Plugin]
	b, err := s.broker()
	if err == nil {
		out.Items, err = b.List()
	}
	return out, err
}

func (s *Server) installPlugin(w http.ResponseWriter, r *http.Request) {
	takesTime(w, installTime)
	var ask api.PluginInstall
	b, err := s.broker()
	if err == nil {
		err = readBody(w, r, &ask)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	installed, err := b.Install(r.Context(), ask)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.Logger.Info("plugin installed", "actor", actorOf(r.Context()), "plugin", installed.Name, "version",
		installed.Version, "source", plugin.Shown(installed.Source))
	writeJSON(w, http.StatusOK, installed)
}

func (s *Server) removePlugin(w http.ResponseWriter, r *http.Request) {
	takesTime(w, installTime)
	b, err := s.broker()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	removed, err := b.Remove(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.Logger.Info("plugin removed", "actor", actorOf(r.Context()), "plugin", removed.Name)
	writeJSON(w, http.StatusOK, removed)
}

// callPlugin runs a command for a caller that may do everything.
func (s *Server) callPlugin(w http.ResponseWriter, r *http.Request) {
	takesTime(w, s.callTime())
	s.command(w, r, grant{all: true, actor: actorOf(r.Context())})
}

// command runs a plugin's command within a grant. Its answer is an envelope, as plugins expect of each other.
func (s *Server) command(w http.ResponseWriter, r *http.Request, g grant) {
	ask := broker.Command{Plugin: r.PathValue("name"), Name: r.PathValue("command"), Actor: g.actor}
	var call api.PluginCall
	b, err := s.broker()
	if err == nil {
		err = readBody(w, r, &call)
	}
	if err == nil {
		ask.Args = call.Args
		err = g.narrow(b, &ask)
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	result, revision, err := b.Call(calledBy(r.Context(), g.actor), ask, s.loopbackEndpoint(g.actor, false))
	s.settle(r.Context(), revision)
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	writeEnvelope(w, result)
}

// readBody decodes a small JSON body; an empty one is the zero value.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSmallBody)).Decode(into)
	var tooLong *http.MaxBytesError
	switch {
	case err == nil || err.Error() == "EOF":
		return nil
	case errors.As(err, &tooLong):
		return err
	}
	return badRequest("send JSON", "the body can't be read: %v", err)
}

// pluginStatus maps the errors of plugins to statuses.
var pluginStatus = map[plugin.Reason]int{
	plugin.NotFound:  http.StatusNotFound,
	plugin.NoCommand: http.StatusNotFound,
	plugin.Ambiguous: http.StatusBadRequest,
	plugin.Taken:     http.StatusConflict,
	plugin.Refused:   http.StatusBadRequest,
	plugin.Busy:      http.StatusServiceUnavailable,
	plugin.Nested:    http.StatusLoopDetected,
	plugin.Ended:     http.StatusForbidden,
	plugin.Timeout:   http.StatusGatewayTimeout,
	plugin.Flood:     http.StatusBadGateway,
	plugin.Nonsense:  http.StatusBadGateway,
	plugin.Broken:    http.StatusUnprocessableEntity,
	plugin.Failed:    http.StatusUnprocessableEntity,
	plugin.Source:    http.StatusUnprocessableEntity,
}

// problemOfPlugin returns the problem for an error of a plugin; nil for other errors.
func problemOfPlugin(err error) *api.Problem {
	var macro *broker.MacroError
	var action *broker.ActionError
	var fault *plugin.Error
	var trees *broker.TreesError
	switch {
	case errors.As(err, &trees):
		return &api.Problem{Type: api.ProblemType + api.TreesWanted, Status: http.StatusUnprocessableEntity,
			Title:  api.TreesWanted,
			Detail: trees.Error() + "; nothing was stored", Builds: trees.Builds,
			Next: "apply with `tend apply` from where the source is; other clients PUT each tree's tar to /v1/blobs/<digest> and name the " +
				"digest in the macro's metadata.stamps, as build/<kind>/<scope>/<name>"}
	case errors.As(err, &macro):
		problem := problemOf(macro.Err)
		if len(problem.Errors) == 0 {
			problem.Errors = []api.FieldError{{Object: macro.Macro.String(), Detail: problem.Detail}}
			problem.Detail = "a macro can't be expanded; nothing was stored"
		}
		return problem
	case errors.As(err, &action):
		problem := problemOf(action.Err)
		problem.Detail = action.Error()
		return problem
	case errors.As(err, &fault):
		return &api.Problem{Type: api.ProblemType + string(fault.Reason), Status: pluginStatus[fault.Reason],
			Title:  string(fault.Reason),
			Detail: fault.Error(), Next: fault.Next}
	}
	return nil
}
