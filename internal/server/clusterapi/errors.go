package clusterapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"tend.dev/tend/api/pull"
	"tend.dev/tend/internal/store"
)

// failure is an error with its answer.
type failure struct {
	status  int
	code    string
	message string
	// retry is the time until a retry; zero if a retry can't help.
	retry time.Duration
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func invalid(code, format string, args ...any) error {
	return &failure{http.StatusBadRequest, code, fmt.Sprintf(format, args...), 0}
}

// fail answers with an error, and returns the status.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) int {
	f := failureOf(err)
	if f.status >= http.StatusInternalServerError {
		h.Logger.WarnContext(r.Context(), "a request of a cluster's operator failed", "method", r.Method, "path",
			r.URL.Path, "error", err)
	}
	if f.retry > 0 {
		w.Header().Set("Retry-After", seconds(f.retry))
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tend"`)
	}
	write(w, f.status, pull.Error{Code: f.code, Message: f.message, RequestID: w.Header().Get("X-Request-Id")})
	return f.status
}

// failureOf returns the answer to an error. Unknown errors are the server's own: the operator may retry.
func failureOf(err error) *failure {
	var f *failure
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &tooLarge):
		return &failure{http.StatusRequestEntityTooLarge, "TooLarge", fmt.Sprintf("the body is larger than %d KiB", tooLarge.Limit>>10), 0}
	case errors.Is(err, store.ErrUnknownOutcome):
		return &failure{http.StatusServiceUnavailable, "OutcomeUnknown",
			"the store did not answer in time; send it again", time.Second}
	}
	return &failure{http.StatusServiceUnavailable, "Unavailable", "the server can't answer at the moment: " +
		err.Error(), time.Second}
}

func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", pull.MediaType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// read decodes the body of a request; it ignores unknown fields.
func read(r *http.Request, into any) error {
	err := json.NewDecoder(r.Body).Decode(into)
	var tooLarge *http.MaxBytesError
	if err == nil || errors.As(err, &tooLarge) {
		return err
	}
	return invalid("InvalidJSON", "the body can't be read: %s", err)
}

// addressOf returns the address of a request's client, without the port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
