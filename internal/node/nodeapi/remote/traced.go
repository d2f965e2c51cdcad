package remote

import (
	"net/http"

	"tend.dev/tend/internal/observe/tracing"
)

// traced answers requests that are part of a trace as part of it.
func (h *Handler) traced(name string, answer http.HandlerFunc) http.HandlerFunc {
	if h.Tracer == nil {
		return answer
	}
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, work := h.Tracer.Follow(r.Context(), tracing.Sender(r.Header), name)
		work.Keep()
		answer(w, r.WithContext(ctx))
		work.End(nil)
	}
}
