package server

import (
	"context"
	"net/http"

	"tend.dev/tend/api"
)

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, api.Health{Status: "ok"})
}

type resumeQuery struct {
	Unknown string `query:"unknown" enum:"stop,keep"`
}

func (s *Server) resume(ctx context.Context, in *resumeQuery) (api.ResumeResult, error) {
	if s.Resume == nil {
		return api.ResumeResult{}, badRequest("nothing is to be done", "this server is never paused")
	}
	return s.Resume(ctx, api.UnknownContainers(in.Unknown))
}

// readyz answers 200 if the view is complete, nothing is missing, and the server isn't shutting down.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	body := api.Readiness{Missing: s.Missing()}
	if s.View.Revision() == 0 {
		body.Missing = append([]string{"the store has not been read yet"}, body.Missing...)
	}
	select {
	case <-s.closing:
		body.Missing = append(body.Missing, "the server is shutting down")
	default:
	}
	body.Ready = len(body.Missing) == 0
	status := http.StatusOK
	if !body.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, body)
}
