package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/store/eventlog"
)

// Log is a log of events.
type Log interface {
	Read(ctx context.Context, q eventlog.Query) (eventlog.Page, error)
	Changed() <-chan struct{}
	State() eventlog.State
}

// oldest is the value of since that begins with the oldest event that is kept.
const oldest = "oldest"

// eventFilter chooses events.
type eventFilter struct {
	kind        api.Kind
	scope, name string
	// types are whole types, or actions without the kind. Nil selects all.
	types []string
	actor string
	// visible are the scopes that the caller sees; nil is all.
	visible []string
}

// wants reports whether the filter selects an event.
func (f eventFilter) wants(e api.Event) bool {
	if len(f.types) > 0 && !slices.ContainsFunc(f.types, func(t string) bool {
		return e.Type == t || api.EventTypeByKind(e.Type) == t || strings.HasSuffix(e.Type, "."+t)
	}) {
		return false
	}
	if f.scope == "" && f.name == "" && f.kind == "" && f.actor == "" && f.visible == nil {
		return true
	}
	var about api.AuditData // the names are the same in an event about an object
	if json.Unmarshal(e.Data, &about) != nil || !f.by(about.Actor) {
		return false
	}
	if f.visible != nil && !slices.Contains(f.visible, about.Scope) {
		return false
	}
	return f.names(api.Ref{Kind: about.Kind, Scope: about.Scope, Name: about.Name}) ||
		slices.ContainsFunc(about.Objects, func(text string) bool { return f.names(named(text)) })
}

// named returns the object of a text as api.Ref.String makes it.
func named(text string) api.Ref {
	switch parts := strings.SplitN(text, "/", 3); len(parts) {
	case 3:
		return api.Ref{Kind: api.Kind(parts[0]), Scope: parts[1], Name: parts[2]}
	case 2:
		return api.Ref{Kind: api.Kind(parts[0]), Scope: api.Unscoped, Name: parts[1]}
	}
	return api.Ref{Name: text}
}

// by reports whether an actor is selected. The process id or port of an actor, which never return, need not be given.
func (f eventFilter) by(actor string) bool {
	return f.actor == "" || f.actor == actor || f.actor == api.ActorName(actor)
}

func (f eventFilter) names(ref api.Ref) bool {
	return (f.kind == "" || f.kind == ref.Kind) && (f.scope == "" || f.scope == ref.Scope) &&
		(f.name == "" || f.name == ref.Name)
}

// eventRequest is a reading of a log.
type eventRequest struct {
	log    Log
	wanted eventFilter
	query  eventlog.Query
	follow bool
}

// readEvents serves the log of changes, readAudit the log of calls.
func (s *Server) readEvents(w http.ResponseWriter, r *http.Request) { s.serveLog(w, r, s.Events) }

func (s *Server) readAudit(w http.ResponseWriter, r *http.Request) { s.serveLog(w, r, s.Audit) }

// serveLog answers a request for a log: with a stream, or with one page.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request, log Log) {
	request, err := s.eventRequest(r, log)
	if err == nil && request.follow {
		s.followEvents(w, r, request)
		return
	}
	var page api.EventPage
	if err == nil {
		page, err = s.eventPage(r.Context(), request)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, page)
}

func (s *Server) eventRequest(r *http.Request, log Log) (eventRequest, error) {
	q := queryOf(r)
	request := eventRequest{log: log, follow: true}
	request.wanted = eventFilter{scope: q.text("scope"), name: q.text("name"), actor: q.text("actor"),
		visible: visible(r.Context())}
	if types := q.text("type"); types != "" {
		request.wanted.types = strings.Split(types, ",")
	}
	kind, since := q.text("kind"), q.text("since")
	if q.values.Has("follow") {
		request.follow = q.boolean("follow")
	}
	request.query.Last = q.boolean("last")
	request.query.Limit = int(min(q.integer("limit", eventlog.DefaultEvents, 1), eventlog.MaxEvents))
	if err := q.done(); err != nil {
		return request, err
	}
	if log == nil {
		return request, &api.Problem{Status: http.StatusNotImplemented, Detail: "this server has no such log",
			Next: "ask another server"}
	}
	var err error
	if request.query.Last && (request.follow || since != "") {
		return request, badRequest("leave out since, and add follow=0", "last reads the newest events, and no others")
	}
	if kind != "" {
		if request.wanted.kind, err = kindOf(kind); err != nil {
			return request, err
		}
	}
	if err := checkEventTypes(request.wanted.types); err != nil {
		return request, err
	}
	if request.wanted.scope != "" && request.wanted.name != "" {
		request.query.Scope, request.query.Name = request.wanted.scope, request.wanted.name
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		since = last // a client that reconnects repeats its first URL
	}
	return request, s.begin(r.Context(), &request, since)
}

// begin sets the position that a reading begins at.
func (s *Server) begin(ctx context.Context, request *eventRequest, since string) error {
	state := request.log.State()
	switch since {
	case "":
		request.query.After = state.Oldest
		if request.follow {
			request.query.After = state.Newest
		}
		return nil
	case oldest:
		request.query.After = state.Oldest
		return nil
	}
	after, err := eventlog.ParsePosition(since)
	if err != nil {
		return badRequest("give the id of an event, or `oldest`", "parameter since: %v", err)
	}
	s.settle(ctx, after.Revision) // another server may have answered it
	if now := s.View.Revision(); after.Revision > now {
		return eventsGone("the store is at revision "+eventlog.After(now).String()+" and was never at "+since,
			"the store was replaced by an older one: begin again with since=oldest")
	}
	request.query.After = after
	return nil
}

// eventFault returns the client's view of an error of the log.
func eventFault(err error) error {
	var gone *eventlog.GoneError
	if !errors.As(err, &gone) {
		return err
	}
	return eventsGone(err.Error(), "go on with since="+gone.Oldest.String()+
		" and take what happened before from the objects themselves")
}

func eventsGone(detail, next string) *api.Problem {
	return &api.Problem{Type: api.ProblemType + "EventsGone", Title: "EventsGone", Status: http.StatusGone,
		Detail: detail, Next: next}
}

// readings bounds how often the log is read for one page.
const readings = 16

// eventPage reads a bounded part of the log: until it has enough events, or has skipped enough others.
func (s *Server) eventPage(ctx context.Context, request eventRequest) (api.EventPage, error) {
	if request.query.Last {
		return lastEvents(ctx, request)
	}
	out := api.EventPage{Events: []api.Event{}}
	limit := request.query.Limit
	for range readings {
		page, err := request.log.Read(ctx, request.query)
		if err != nil {
			return out, eventFault(err)
		}
		for _, e := range page.Events {
			if request.wanted.wants(e) {
				out.Events = append(out.Events, e)
			}
			if len(out.Events) == limit {
				out.Next, out.More = e.ID, true
				return out, nil
			}
		}
		request.query.After, out.Next, out.More = page.Next, page.Next.String(), page.More
		if !page.More {
			break
		}
	}
	return out, nil
}

// lastEvents reads the newest events: backwards until there are enough, or enough others were passed.
func lastEvents(ctx context.Context, request eventRequest) (api.EventPage, error) {
	out := api.EventPage{Events: []api.Event{}}
	limit := request.query.Limit
	for i := range readings {
		page, err := request.log.Read(ctx, request.query)
		if err != nil {
			return out, err
		}
		if i == 0 {
			out.Next = page.Next.String()
		}
		wanted := slices.DeleteFunc(page.Events, func(e api.Event) bool { return !request.wanted.wants(e) })
		out.Events = append(wanted, out.Events...)
		out.More = page.More
		if !page.More || len(out.Events) >= limit {
			break
		}
		request.query.Before = page.First
	}
	if extra := len(out.Events) - limit; extra > 0 {
		out.Events, out.More = out.Events[extra:], true
	}
	return out, nil
}
