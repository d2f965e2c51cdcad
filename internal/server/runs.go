package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// longestWait bounds how long a request waits for the end of a run.
const longestWait = 25 * time.Second

// runs lists the runs of an object, or of all that match.
func (s *Server) runs(ctx context.Context, in *TargetQuery) (api.ListResult[api.Run], error) {
	var none api.ListResult[api.Run]
	snap, err := s.snapshot()
	if err != nil {
		return none, err
	}
	wanted := podFilter{scope: in.Scope, name: in.Name, visible: visible(ctx)}
	if in.Kind != "" {
		if wanted.kind, err = kindOf(in.Kind); err != nil {
			return none, err
		}
	}
	out := []api.Run{}
	for record := range snap.Prefix(records.RunsPrefix) {
		run, ok := record.Value.(*api.Run)
		if ok && wanted.wants(&api.Task{Kind: run.Kind, Scope: run.Scope, Name: run.Name}) {
			out = append(out, *run)
		}
	}
	slices.SortStableFunc(out, func(a, b api.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return api.ListResult[api.Run]{Items: out, Revision: snap.Revision()}, nil
}

type runQuery struct {
	ObjectPath
	ID   string `path:"id"`
	Wait bool   `query:"wait"`
}

// run returns one run; with wait, once it has ended.
func (s *Server) run(ctx context.Context, in *runQuery) (api.Run, error) {
	ref, err := in.ref()
	if err != nil {
		return api.Run{}, err
	}
	if !in.Wait {
		return s.findRun(ref, in.ID)
	}
	ctx, end, err := s.openStream(ctx, "wait")
	if err != nil {
		return api.Run{}, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, longestWait)
	defer cancel()
	key := records.RunKey(ref, in.ID)
	changes := s.View.Watch(ctx, view.WatchOptions{Match: func(c view.Change) bool { return c.Key == key }})
	for {
		run, err := s.findRun(ref, in.ID)
		if err != nil || run.State.Ended() {
			return run, err
		}
		select {
		case _, open := <-changes.Changes():
			if ended := endOf(ctx); ended != nil {
				return api.Run{}, ended
			}
			if !open {
				return s.findRun(ref, in.ID)
			}
		case <-s.closing:
			return run, nil
		}
	}
}

func (s *Server) findRun(ref api.Ref, id string) (api.Run, error) {
	snap, err := s.snapshot()
	if err != nil {
		return api.Run{}, err
	}
	if run := snap.Run(ref, id); run.Exists() {
		return *run.Value, nil
	}
	return api.Run{}, noRun(ref, id)
}

func noRun(ref api.Ref, id string) error {
	return &api.Problem{Status: http.StatusNotFound, Detail: "there is no run " + clip(id) + " of " + ref.String(),
		Next: "`tend runs " + ref.Scope + "/" + ref.Name + "` lists those that are kept"}
}

// chooseRun limits the output of a job to one run: the named one, or else the newest and those after it.
func (l *logsOf) chooseRun(snap records.Snapshot) error {
	switch {
	case l.run != "" && !snap.Run(l.owner, l.run).Exists():
		return noRun(l.owner, l.run)
	case l.run != "" || !l.owner.Kind.HasRuns():
		return nil
	}
	for _, run := range snap.Runs(l.owner) { // the newest is the last; a run that still waits has no output
		if len(run.Value.Attempts) > 0 {
			l.begun = run.Value.CreatedAt
		}
	}
	return nil
}

// goesOn reports whether more pods may be created.
func (l logsOf) goesOn(snap records.Snapshot) bool {
	if l.run != "" {
		run := snap.Run(l.owner, l.run)
		return run.Exists() && !run.Value.State.Ended()
	}
	if lab := snap.LabStatus(l.owner); l.owner.Kind == api.KindLab && lab.Exists() && lab.Value.Phase.Ended() {
		return false
	}
	return l.slot == "" && snap.Object(l.owner).Exists()
}
