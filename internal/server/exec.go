package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/client/frame"
	"tend.dev/tend/internal/execstream"
	container "tend.dev/tend/internal/runtime"
)

// exec runs a command in a pod. An error before it runs is an HTTP problem; then the connection carries frames.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	ctx, end, err := s.openStream(r, "exec")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	task, request, err := s.execRequest(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	on, err := s.Nodes.Node(task.Node)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// The http.Server gives up a hijacked connection, and cancels r.Context, so the command has a context of its own.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	go func() {
		select {
		case <-s.cutting:
			cancel(errClosing)
		case <-ctx.Done():
		}
	}()
	attached := context.AfterFunc(r.Context(), func() { cancel(execstream.ErrClientGone) }) // until the connection is taken over
	running, err := on.Exec(ctx, task.ID, container.ExecOptions(request))
	attached()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer running.Close()
	s.Logger.Info("exec", "actor", actorOf(ctx), "pod", task.ContainerName(), "command", request.Command)
	conn, input, err := upgrade(w)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer conn.Close()
	execstream.Serve(ctx, cancel, conn, input, running, problemOf)
}

func (s *Server) execRequest(w http.ResponseWriter, r *http.Request) (*api.Task, api.ExecRequest, error) {
	var request api.ExecRequest
	if err := queryOf(r).done(); err != nil {
		return nil, request, err
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), frame.Protocol) {
		return nil, request, &api.Problem{Status: http.StatusUpgradeRequired,
			Detail: "exec is a stream of frames", Next: "send Connection: Upgrade and Upgrade: " + frame.Protocol + ", or use `tend exec`"}
	}
	snap, err := s.snapshot()
	if err != nil {
		return nil, request, err
	}
	task, err := findTask(snap, r.PathValue("pod"))
	if err != nil {
		return nil, request, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSmallBody))
	if err != nil {
		return nil, request, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return nil, request, badRequest("send {\"command\": […]}", "the body can't be read: %v", err)
	}
	if len(request.Command) == 0 {
		return nil, request, badRequest("send {\"command\": […]}", "no command given")
	}
	if task.Desired != api.DesiredRunning {
		return nil, request, notLive(task.ContainerName())
	}
	return task, request, nil
}

// upgrade hijacks the connection and answers with the upgrade.
func upgrade(w http.ResponseWriter) (net.Conn, *bufio.Reader, error) {
	conn, buffer, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+frame.Protocol+"\r\n\r\n")
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, buffer.Reader, nil
}
