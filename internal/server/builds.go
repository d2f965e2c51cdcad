package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/build/buildlog"
	"tend.dev/tend/internal/node/nodeapi"
)

// buildLog streams the output of a running or ended build.
func (s *Server) buildLog(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	follow := q.boolean("follow")
	if err := q.done(); err != nil {
		s.fail(w, r, err)
		return
	}
	built, err := s.builtAs(r.PathValue("scope"), r.PathValue("name"), r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, end, err := s.openStream(r.Context(), "builds")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	out := newLines(w, r)
	if follow {
		if err := out.begin(); err != nil { // send the header now: the first line may take long
			return
		}
	}
	err = s.readBuild(ctx, built, follow, func(line string) error {
		return out.send("", api.BuildLine{Text: line})
	})
	switch {
	case err != nil && !out.begun:
		s.fail(w, r, err)
	case err == nil:
		_ = out.begin()
	}
}

// built is a build of an object: the name of its log, and the nodes that may have it.
type built struct {
	called string
	nodes  []string
}

// builtAs finds a build. Its log is on the node that reports to build, or to have built, the image; an earlier build's
// log is on one of the nodes that were asked for an image of the object. The nodes are filtered by object: the name of
// the log is the same for objects whose scope and name join to the same text.
func (s *Server) builtAs(scope, name, id string) (built, error) {
	snap, err := s.snapshot()
	if err != nil {
		return built{}, err
	}
	for _, kind := range api.KindsThat(api.Kind.HasContainers) {
		ref := api.Ref{Kind: kind, Scope: scope, Name: name}
		if !snap.Object(ref).Exists() {
			continue
		}
		out, earlier := built{called: buildlog.Name(ref.AppID(), id)}, []string(nil)
		for _, status := range snap.ImageStatuses(ref) {
			earlier = append(earlier, status.Value.Node)
			if status.Value.Image == (api.ImageBuild{ID: id}).Image(ref) {
				out.nodes = append(out.nodes, status.Value.Node)
			}
		}
		if len(out.nodes) == 0 {
			out.nodes = earlier
		}
		return out, nil
	}
	return built{}, &api.Problem{Status: http.StatusNotFound, Detail: "there is no " + scope + "/" + name +
		" that is built", Next: "tend get"}
}

// quietTime bounds the wait for a node's next line of output that already exists.
const quietTime = 30 * time.Second

// readBuild reads the output of a build from the node that has it.
func (s *Server) readBuild(ctx context.Context, of built, follow bool, each func(line string) error) error {
	err := error(&api.Problem{Status: http.StatusServiceUnavailable,
		Detail: "no node is connected that could have built it", Next: "tend nodes"})
	for _, id := range of.nodes {
		on, gone := s.Nodes.Node(id)
		if gone != nil {
			continue
		}
		if err = readLines(ctx, on, of.called, follow, each); !errors.Is(err, buildlog.ErrNotFound) {
			return err
		}
	}
	return err
}

// readLines reads a build's log from a node. Without follow, a node that stays silent too long is an error.
func readLines(ctx context.Context, on nodeapi.Node, called string, follow bool, each func(line string) error) error {
	if follow {
		return on.BuildLog(ctx, called, true, each)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(quietTime, func() {
		cancel(&api.Problem{Status: http.StatusGatewayTimeout, Detail: "the node that built it gives no answer",
			Next: "see with tend nodes whether it is there, and try again"})
	})
	defer quiet.Stop()
	err := on.BuildLog(ctx, called, false, func(line string) error {
		quiet.Reset(quietTime)
		return each(line)
	})
	if err != nil && context.Cause(ctx) != nil {
		return context.Cause(ctx)
	}
	return err
}
