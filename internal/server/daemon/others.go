package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/nodeapi/session"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/records"
)

// behindTime bounds how long a node that comes from another server, or has just started, waits until this server has
// the others' changes.
const behindTime = 5 * time.Second

// current returns an error unless this server has everything written up to a revision: otherwise a node that follows it
// would take records that it knows for deleted.
func (d *daemon) current(ctx context.Context, revision int64) error {
	if !d.several() {
		return nil
	}
	if why := d.quorum(); why != "" {
		return unavailable(why)
	}
	if d.view.Revision() >= revision {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, behindTime)
	defer cancel()
	if d.view.WaitFor(ctx, revision) != nil {
		return unavailable(fmt.Sprintf("this server has seen revision %d and the node %d", d.view.Revision(), revision))
	}
	return nil
}

// caughtUp returns an error if this server may not show all that any server has stored.
func (d *daemon) caughtUp(ctx context.Context) error {
	fresh := d.fresh()
	if fresh == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, behindTime)
	defer cancel()
	if err := fresh(ctx); err != nil {
		return unavailable(fmt.Sprintf("this server may be behind what others have stored: %s", err))
	}
	return nil
}

func unavailable(why string) error {
	return &api.Problem{Status: http.StatusServiceUnavailable, Title: "Behind", Detail: why, Next: "ask another server"}
}

// presences returns the presence records of the running servers, by name.
func (d *daemon) presences() map[string]*api.ServerPresence {
	out := map[string]*api.ServerPresence{}
	for record := range d.snapshot().Prefix(records.ServersPrefix) {
		if presence, ok := record.Value.(*api.ServerPresence); ok {
			out[strings.TrimPrefix(record.Key, records.ServersPrefix)] = presence
		}
	}
	return out
}

// addresses returns the addresses at which the running servers accept nodes.
func (d *daemon) addresses() (out []string) {
	for _, presence := range d.presences() {
		if presence.Address != "" {
			out = append(out, presence.Address)
		}
	}
	slices.Sort(out)
	return out
}

// others returns the addresses of the other servers that run.
func (d *daemon) others() (out []string) {
	for name, presence := range d.presences() {
		if name != d.Name && presence.Address != "" {
			out = append(out, presence.Address)
		}
	}
	slices.Sort(out)
	return out
}

// lookEvery is the interval at which the list of other servers is read.
const lookEvery = 3 * time.Second

// answerOthers keeps a connection to every other server, on which this server's own node answers, until ctx ends: any
// server may request its logs.
func (d *daemon) answerOthers(ctx context.Context) error {
	var running recovery.Group
	defer running.Wait()
	kept := map[string]bool{}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		for _, address := range d.others() {
			if kept[address] {
				continue
			}
			kept[address] = true
			running.Go(func() {
				dial := func(ctx context.Context) (net.Conn, error) { return d.dialOther(ctx, address) }
				_ = recovery.Keep(ctx, func(ctx context.Context) error {
					return session.Keep(ctx, dial, func(error) bool { return false }, d.host.Access(), d.host.Ready(), d.Logger)
				})
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// dialOther connects to another server as this one's node.
func (d *daemon) dialOther(ctx context.Context, address string) (net.Conn, error) {
	config, err := d.asking(authority.Machine{Node: d.Node, UID: ofServer + d.Name}, session.Protocol)
	if err != nil {
		return nil, err
	}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: behindTime}, Config: config}).DialContext(ctx,
		"tcp", address)
	if err != nil {
		return nil, err
	}
	return session.Plain(conn.(*tls.Conn)), nil
}

// askLife is the lifetime of the certificate for a connection to another server: each connection has its own.
const askLife = time.Hour

// asking returns the configuration to reach another server with, as a node or as the server.
func (d *daemon) asking(as authority.Machine, protocol string) (*tls.Config, error) {
	own, err := d.nodeListener.desk.Authority.Client(as, askLife)
	if err != nil {
		return nil, err
	}
	certificate := func() (*tls.Certificate, error) { return &own, nil }
	return authority.NodeTLS(d.nodeListener.desk.Authority.PEM(), certificate, protocol)
}

// copyFiles copies referenced files that this server lacks from other servers, until ctx ends: any server may be the
// last one left.
func (d *daemon) copyFiles(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	looked := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if now := d.view.Revision(); now != looked && d.copyMissing(ctx) {
			looked = now
		}
	}
}

// copyMissing copies the missing files, and reports whether none is missing any more.
func (d *daemon) copyMissing(ctx context.Context) bool {
	whole := true
	for digest := range d.snapshot().ReferredFiles() {
		if here, err := d.files.blobs.Has(digest); err == nil && !here && digest != "" && ctx.Err() == nil {
			if err := d.copyFile(ctx, digest); err != nil {
				whole = false
				d.Logger.DebugContext(ctx, "a file can't be copied from another server; retrying", "digest",
					digest, "error", err)
			}
		}
	}
	return whole
}

// copyFile copies a file from the first server that has it, of those that answer.
func (d *daemon) copyFile(ctx context.Context, digest string) error {
	err := fmt.Errorf("no other server runs: %w", store.ErrNotFound)
	for _, address := range d.sources.order(d.others()) {
		err = d.copyFrom(ctx, address, digest)
		if d.sources.note(address, err, d.Now()); err == nil {
			return nil
		}
	}
	return err
}

func (d *daemon) copyFrom(ctx context.Context, address, digest string) error {
	config, err := d.asking(authority.Machine{}, "h2")
	if err != nil {
		return err
	}
	return peer.Fetch(ctx, config, address, digest, func(content io.Reader) error {
		return d.files.blobs.PutAs(digest, content, d.Build.MaxTar())
	})
}
