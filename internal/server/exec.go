package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"tend.dev/tend/api"
	"tend.dev/tend/client/execwire"
	"tend.dev/tend/internal/node/execstream"
	"tend.dev/tend/internal/node/nodeapi"
	container "tend.dev/tend/internal/node/runtime"
)

// exec runs a command in a pod. Until the upgrade an error is an HTTP problem, then a message of the WebSocket.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	ctx, end, err := s.openStream(r.Context(), "exec")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	task, on, err := s.execTarget(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{execwire.Protocol}})
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // it is closed already
	conn.SetReadLimit(execwire.MaxMessage)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := readCommand(ctx, conn)
	start := func(ctx context.Context) (container.Exec, error) {
		if err != nil {
			return nil, err
		}
		s.Logger.Info("exec", "actor", actorOf(ctx), "pod", task.ContainerName(), "command", request.Command)
		running, err := on.Exec(ctx, task.ID, container.ExecOptions(request))
		var refused *container.RejectedError
		switch {
		case errors.As(err, &refused) && refused.Reason == "NotRunning":
			return nil, s.notRunning(task)
		case errors.As(err, &refused):
			return nil, &api.Problem{Status: http.StatusUnprocessableEntity, Title: refused.Reason,
				Detail: refused.Detail, Next: refused.Next}
		case err != nil:
			return nil, s.problem(r, err)
		}
		return running, nil
	}
	execstream.Serve(ctx, cancel, conn, start, problemOf)
}

// execTarget returns the pod that a request names, and its node.
func (s *Server) execTarget(r *http.Request) (*api.Task, nodeapi.Node, error) {
	if err := queryOf(r).done(); err != nil {
		return nil, nil, err
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") ||
		!strings.Contains(r.Header.Get("Sec-WebSocket-Protocol"), execwire.Protocol) {
		return nil, nil, errNoWebSocket
	}
	if !sameOrigin(r) {
		return nil, nil, foreignOrigin(r)
	}
	snap, err := s.snapshot()
	if err != nil {
		return nil, nil, err
	}
	task, err := findTask(snap, r.PathValue("pod"))
	if err != nil {
		return nil, nil, err
	}
	notePod(r.Context(), task.Owner())
	if task.Desired != api.DesiredRunning {
		return nil, nil, notLive(task.ContainerName())
	}
	if err := s.checkCommand(r.Context(), snap, task); err != nil {
		return nil, nil, err
	}
	if status := snap.TaskStatus(task.ID); status.Exists() && (status.Value.CrashLoop || status.Value.State.Terminal()) {
		return nil, nil, notRunning(task, status.Value)
	}
	on, err := s.Nodes.Node(task.Node)
	return task, on, err
}

// notRunning returns the error of a command in a pod whose container is not running, by its newest status.
func (s *Server) notRunning(task *api.Task) error {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	return notRunning(task, snap.TaskStatus(task.ID).Value)
}

func notRunning(task *api.Task, status *api.TaskStatus) error {
	var why []string
	switch {
	case status == nil:
	case status.CrashLoop:
		why = append(why, "crash loop")
	case status.State != api.TaskRunning:
		why = append(why, string(status.State))
	}
	if status != nil && status.ExitCode != nil {
		why = append(why, fmt.Sprintf("exit %d", *status.ExitCode))
	}
	detail := task.ContainerName() + " isn't running"
	if len(why) > 0 {
		detail += " (" + strings.Join(why, ", ") + ")"
	}
	owner := task.Owner()
	return &api.Problem{Status: http.StatusConflict, Detail: detail, Next: "tend logs " + owner.Scope + "/" + owner.Name}
}

// errNoWebSocket also answers clients of earlier versions, in which exec was a POST with a protocol of its own.
var errNoWebSocket = &api.Problem{Status: http.StatusUpgradeRequired,
	Detail: "exec is a WebSocket of the subprotocol " + execwire.Protocol,
	Next:   "use the `tend exec` of the server's version, or open one with GET: docs/use/exec.md says how"}

func (s *Server) execWithoutWebSocket(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Upgrade", "websocket")
	s.fail(w, r, errNoWebSocket)
}

// lateTime is the time that a client has for its first message after its session has ended.
const lateTime = 5 * time.Second

// readCommand reads the client's first message. Once ctx has ended it still waits a moment: a canceled read cuts the
// connection, and the client would not learn why.
func readCommand(ctx context.Context, conn *websocket.Conn) (request api.ExecRequest, err error) {
	reads, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lateTime, cancel) })()
	_, message, err := conn.Read(reads)
	if err != nil {
		return request, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(message)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return request, badRequest("send {\"command\": […]} first", "the first message can't be read: %v", err)
	}
	if len(request.Command) == 0 {
		return request, badRequest("send {\"command\": […]} first", "no command given")
	}
	return request, nil
}
