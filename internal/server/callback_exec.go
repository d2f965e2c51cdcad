package server

import (
	"errors"
	"net/http"

	"tend.dev/tend/internal/compat/plugin"
	"tend.dev/tend/internal/compat/plugin/broker"
)

// pluginExec is the body of a call that returns a command's output unchanged.
type pluginExec struct {
	// Args are the plugin, its command, and the command's arguments.
	Args []string          `json:"args"`
	Env  map[string]string `json:"env"`
}

// callbackExec runs a command within a grant and answers with its output. It performs none of the actions in the
// output.
func (s *Server) callbackExec(w http.ResponseWriter, r *http.Request, g grant) {
	var call pluginExec
	b, err := s.broker()
	if err == nil {
		err = readBody(w, r, &call)
	}
	if err == nil && len(call.Args) < 2 {
		err = badRequest(`send {"args": ["plugin", "command", …]}`, "say which plugin, and which of its commands")
	}
	var ask broker.Command
	if err == nil {
		ask = broker.Command{Plugin: call.Args[0], Name: call.Args[1], Args: call.Args[2:], Env: call.Env, Actor: g.actor}
		err = g.narrow(b, &ask)
	}
	if err != nil {
		s.failEnvelope(w, r, err)
		return
	}
	said, err := b.Exec(calledBy(r.Context(), g.actor), ask, s.loopbackEndpoint(g.actor, g.dry))
	if err != nil {
		s.failExec(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, said)
}

// failExec is failEnvelope with the statuses of this path: 404 for a missing command, 500 for a failed one.
func (s *Server) failExec(w http.ResponseWriter, r *http.Request, err error) {
	var fault *plugin.Error
	if !errors.As(err, &fault) || fault.Reason == plugin.Refused || fault.Reason == plugin.NotFound ||
		fault.Reason == plugin.Busy {
		s.failEnvelope(w, r, err)
		return
	}
	status := http.StatusInternalServerError
	if fault.Reason == plugin.NoCommand {
		status = http.StatusNotFound
	}
	writeFault(w, status, err)
}
