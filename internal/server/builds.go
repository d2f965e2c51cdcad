package server

import (
	"context"
	"errors"
	"net/http"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/build/journal"
	"tend.dev/tend/internal/verbs"
)

// buildQuery names an object and the source it is to be built from.
type buildQuery struct {
	TargetQuery
	Tree  string `query:"tree" required:"true"`
	Force bool   `query:"force"`
}

// setBuild sets the source that an object is built from; the source was sent before.
func (s *Server) setBuild(ctx context.Context, in *buildQuery) (api.VerbResult, error) {
	return s.verb(ctx, in.TargetQuery, func(target verbs.Target) (api.VerbResult, error) {
		return s.Verbs.SetBuild(ctx, target, in.Tree, in.Force, actorOf(ctx))
	})
}

// buildLog streams the output of a running or ended build.
func (s *Server) buildLog(w http.ResponseWriter, r *http.Request) {
	q := queryOf(r)
	follow := q.boolean("follow")
	if err := q.done(); err != nil {
		s.fail(w, r, err)
		return
	}
	app := api.Ref{Scope: r.PathValue("scope"), Name: r.PathValue("name")}.AppID()
	ctx, end, err := s.openStream(r, "builds")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer end()
	out := newLines(w, r)
	if follow {
		if err := out.begin(); err != nil { // the first line may take long
			return
		}
	}
	err = s.readBuild(ctx, journal.Name(app, r.PathValue("id")), follow, func(line string) error {
		return out.send("", api.BuildLine{Text: line})
	})
	switch {
	case err != nil && !out.begun:
		s.fail(w, r, err)
	case err == nil:
		_ = out.begin()
	}
}

// readBuild reads the output of a build from the node that has it.
func (s *Server) readBuild(ctx context.Context, called string, follow bool, each func(line string) error) error {
	err := error(&api.Problem{Status: http.StatusServiceUnavailable, Detail: "no node is connected that could have built it", Next: "tend nodes"})
	for _, id := range s.Nodes.Connected() {
		on, gone := s.Nodes.Node(id)
		if gone != nil {
			continue
		}
		if err = on.BuildLog(ctx, called, follow, each); !errors.Is(err, journal.ErrNotFound) {
			return err
		}
	}
	return err
}
