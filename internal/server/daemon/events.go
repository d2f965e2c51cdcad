package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/eventlog"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// trimEvery is the time between two trims of the logs.
const trimEvery = 10 * time.Second

// openView creates the view, and the logs that it feeds.
func (d *daemon) openView() {
	source := d.source()
	d.events = eventlog.New(eventlog.Options{Store: d.store, Prefix: records.EventsPrefix, Source: source})
	d.audit = eventlog.New(eventlog.Options{Store: d.store, Prefix: records.AuditPrefix, Source: source + "/audit"})
	d.view = view.New(d.store, view.Options{
		Decode: records.Decode, Indexes: records.Indexes, Logger: d.Logger,
		Aside: []view.Aside{{Prefix: records.EventsPrefix, Reader: d.events}, {Prefix: records.AuditPrefix, Reader: d.audit}},
	})
}

// auditJoin records that a machine, or a server, joined or was refused. Requests without a valid token are only
// counted.
func (d *daemon) auditJoin(r *http.Request, name string, server bool, refused *api.Problem) {
	const longest = 64
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	data := api.AuditData{Method: r.Method, Path: r.URL.Path, Actor: "join token from " + host, Status: http.StatusOK}
	if name = strings.ToValidUTF8(name[:min(len(name), longest)], ""); server {
		data.Name = name
	} else {
		data.Kind, data.Scope, data.Name = api.KindNode, api.Unscoped, name
	}
	if refused != nil {
		data.Status, data.Problem = refused.Status, refused.Title
	}
	if data.Status == http.StatusUnauthorized {
		data.Actor = host
		d.auditor.RecordForeign(data)
		return
	}
	d.auditor.Record(data)
}

// newAuditor returns the writer of the audit. While the server is paused it writes to the server's log instead of the
// store.
func (d *daemon) newAuditor() *eventlog.Auditor {
	return eventlog.NewAuditor(d.store, d.view.Revision, d.Now, d.Logger)
}

// known returns the newest snapshot of the view; nil before there is a view.
func (d *daemon) known() *view.Snapshot {
	if d.view == nil {
		return nil
	}
	return d.view.Snapshot()
}

// keepLogs trims the logs until ctx ends. It runs while a term of this server lasts.
func (d *daemon) keepLogs(ctx context.Context, term *controlplane.Term) {
	select {
	case <-d.view.Synced(): // before that the logs are empty
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	for {
		_, events := d.events.Trim(ctx, term, d.Events, d.Now())
		_, audit := d.audit.Trim(ctx, term, d.AuditLog, d.Now())
		if err := errors.Join(events, audit); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrConflict) {
			d.Logger.WarnContext(ctx, "the log of events could not be trimmed; retrying", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
