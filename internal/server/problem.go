package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"tend.dev/tend/api"
	"tend.dev/tend/api/node"
	"tend.dev/tend/internal/control/verbs"
	"tend.dev/tend/internal/core/nextstep"
	"tend.dev/tend/internal/core/suggest"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/input/manifest"
	container "tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/blob"
	"tend.dev/tend/internal/store/view"
)

var intentStatus = map[verbs.Reason]int{
	verbs.Invalid:    http.StatusUnprocessableEntity,
	verbs.NotFound:   http.StatusNotFound,
	verbs.Ambiguous:  http.StatusBadRequest,
	verbs.NameTaken:  http.StatusConflict,
	verbs.PortTaken:  http.StatusConflict,
	verbs.RouteTaken: http.StatusConflict,
	verbs.FieldOwned: http.StatusConflict,
	verbs.InUse:      http.StatusConflict,

	verbs.VolumeInUse:   http.StatusConflict,
	verbs.RegistryTaken: http.StatusConflict,
	verbs.Terminating:   http.StatusConflict,
	verbs.RunForbidden:  http.StatusConflict,
	verbs.LabNotRunning: http.StatusConflict,
	verbs.Changed:       http.StatusConflict,
	verbs.TooLarge:      http.StatusRequestEntityTooLarge,
	verbs.Busy:          http.StatusConflict,
	verbs.Forbidden:     http.StatusForbidden,
}

// known lists errors of other packages with their status and next step.
var known = []struct {
	err    error
	status int
	next   string
}{
	{store.ErrQuota, http.StatusInsufficientStorage,
		"etcdctl compact and defrag, then etcdctl alarm disarm; reads still work"},
	{store.ErrFull, http.StatusInsufficientStorage,
		"delete objects that you no longer need (tend delete); writes resume within a minute, and reads still work"},
	{store.ErrNoSpace, http.StatusInsufficientStorage,
		"free disk space on that server; writes then resume, and reads still work"},
	{store.ErrNoAnswer, http.StatusServiceUnavailable,
		"etcdctl endpoint health --cluster; containers keep running, and writes resume once etcd answers"},
	{store.ErrNoQuorum, http.StatusServiceUnavailable,
		"start the servers that are down (tend servers); containers keep running, and writes resume then"},
	{store.ErrStalled, http.StatusServiceUnavailable,
		"see what the disk waits for (dmesg), and ask another server meanwhile; this one resumes by itself"},
	{store.ErrSlow, http.StatusServiceUnavailable, "try again; the server's log says what is slow"},
	{store.ErrPaused, http.StatusServiceUnavailable, "compare with tend get, tend nodes and tend diff; then: tend resume"},
	{blob.ErrNotFound, http.StatusNotFound, "send the file with PUT first"},
	{buildlog.ErrNotFound, http.StatusNotFound, "`tend describe` shows an object's build"},
	{blob.ErrDigest, http.StatusBadRequest, "name the file by sha256: and the 64 hex digits of its bytes"},
	{blob.ErrMismatch, http.StatusBadRequest, "send the file again: it changed on the way, or arrived damaged"},
	{blob.ErrTooLarge, http.StatusRequestEntityTooLarge, "mount a file this large from a volume"},
	{blob.ErrNoSpace, http.StatusInsufficientStorage, "free disk space there, and send the file again"},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge, "send it in smaller parts"},
	{store.ErrClosed, http.StatusServiceUnavailable, "the server is shutting down; try again"},
	{view.ErrGone, http.StatusGone, "list again, and watch from the list's revision"},
	{manifest.ErrContentType, http.StatusUnsupportedMediaType, "send Content-Type: application/json or application/yaml"},
	{manifest.ErrTooLarge, http.StatusRequestEntityTooLarge, "apply in smaller parts"},
	{node.ErrNoPod, http.StatusNotFound, "the container is not there yet, or any more; `tend get pods` shows its state"},
	{container.ErrNotFound, http.StatusNotFound,
		"the container is not there yet, or any more; `tend get pods` shows its state"},
	{node.ErrNotConnected, http.StatusServiceUnavailable, "tend nodes says why; the node's containers keep running"},
	{container.ErrUnavailable, http.StatusServiceUnavailable, nextstep.StartEngine},
	{container.ErrUnsupported, http.StatusNotImplemented, "use the docker runtime for this"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "try again; the server's log says what is slow"},
	{context.Canceled, http.StatusServiceUnavailable, "try again: the request was cut off"},
}

// logSaysMore is the next step of an error that is the server's.
const logSaysMore = "the server's log says more"

// problemOf returns the problem with which an error is answered.
func problemOf(err error) *api.Problem {
	var problem *api.Problem
	var refused *verbs.Error
	var tooLong *http.MaxBytesError
	var broken *bodyError
	var malformed *manifest.Error
	var unknown *verbs.UnknownOutcomeError
	if fromPlugin := problemOfPlugin(err); fromPlugin != nil {
		return fromPlugin
	}
	switch {
	case errors.As(err, &problem):
		copied := *problem
		problem = &copied
	case errors.As(err, &refused):
		problem = &api.Problem{Type: api.ProblemType + string(refused.Reason), Status: intentStatus[refused.Reason],
			Title: string(refused.Reason), Detail: refused.Detail, Next: refused.Next, Errors: refused.Errors}
	case errors.As(err, &unknown):
		problem = outcomeUnknown(err, unknown.Next())
	case errors.Is(err, store.ErrUnknownOutcome):
		problem = outcomeUnknown(err, "check before you repeat")
	case errors.As(err, &tooLong):
		problem = &api.Problem{Status: http.StatusRequestEntityTooLarge, Next: "send it in smaller parts",
			Detail: "the body is larger than " + strconv.FormatInt(tooLong.Limit, 10) + " bytes; nothing was stored"}
	case errors.As(err, &broken):
		problem = broken.problem()
	case errors.As(err, &malformed):
		problem = &api.Problem{Type: api.ProblemType + "Malformed", Status: http.StatusBadRequest, Errors: malformed.Fields(),
			Detail: "the manifests can't be read; nothing was stored", Next: "correct them and apply again"}
	default:
		problem = &api.Problem{Status: http.StatusInternalServerError, Detail: err.Error(),
			Next: logSaysMore}
		for _, k := range known {
			if errors.Is(err, k.err) {
				problem.Status, problem.Next = k.status, k.next
				break
			}
		}
	}
	problem.Status = cmp.Or(problem.Status, http.StatusBadRequest)
	if problem.Title == "" {
		problem.Title = http.StatusText(problem.Status)
	}
	return problem
}

// outcomeUnknown returns the problem of a change that was sent to the store but not answered.
func outcomeUnknown(err error, next string) *api.Problem {
	return &api.Problem{Type: api.ProblemType + api.OutcomeUnknown, Status: http.StatusGatewayTimeout,
		Title: api.OutcomeUnknown,
		Detail: "the store did not answer in time; whether the change is stored, or will be, is unknown: " +
			err.Error(), Next: next}
}

func badRequest(next, format string, args ...any) *api.Problem {
	return &api.Problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...), Next: next}
}

// fail answers with a problem.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	writeProblem(w, s.problem(r, err))
}

// problem returns the problem for an error. It logs errors of the server, but not those of the client.
func (s *Server) problem(r *http.Request, err error) *api.Problem {
	return s.problemFor(r.Context(), r.Method, r.URL.Path, err)
}

// problemFor returns the problem of one request, worded for its caller.
func (s *Server) problemFor(ctx context.Context, method, path string, err error) *api.Problem {
	problem := problemOf(err)
	if problem.Status == http.StatusInternalServerError {
		s.Logger.ErrorContext(ctx, "request failed", "method", method, "path", path, "error", err)
	}
	problem.Detail += suggest.Behind(s.meantBy(ctx, err))
	return identify(ctx, problem)
}

// meantBy returns the address of the object that was probably meant, for an error about a missing one.
func (s *Server) meantBy(ctx context.Context, err error) string {
	var refused *verbs.Error
	if !errors.As(err, &refused) || refused.Reason != verbs.NotFound {
		return ""
	}
	snap, err := s.snapshot()
	if err != nil {
		return ""
	}
	return verbs.Suggestion(ctx, snap, refused)
}

func writeProblem(w http.ResponseWriter, problem *api.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(problem.Status)
	_ = encoderOf(w).Encode(problem)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = encoderOf(w).Encode(body)
}

func encoderOf(w interface{ Write([]byte) (int, error) }) *json.Encoder {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder
}
