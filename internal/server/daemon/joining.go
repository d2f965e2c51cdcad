package daemon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/join"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/platform/portowner"
	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/version"
	"tend.dev/tend/internal/server/controlplane"
	"tend.dev/tend/internal/store"
	"tend.dev/tend/internal/store/etcd"
	"tend.dev/tend/internal/store/secret"
)

// joinServers asks another server to add this one, and stores the answer: first the keys, last the members.
func (d *daemon) joinServers(ctx context.Context, settings *peer.Settings) error {
	if d.hasMember() {
		return fmt.Errorf("%s holds the store of another cluster: join with an empty --root", d.Data)
	}
	server, err := join.ServerURL(d.Join)
	if err != nil {
		return err
	}
	who := d.asServer(settings.Name)
	who.URL = settings.URL
	stop, err := echo(settings.Listen, &who)
	if err != nil {
		return err
	}
	defer stop()
	d.Logger.InfoContext(ctx, "joining the servers of a cluster", "through", server, "server", settings.Name,
		"store", settings.URL)
	given, err := join.JoinServer(ctx, nil, server, d.Token, who)
	if err != nil {
		return err
	}
	if err := secret.Keep(filepath.Join(d.Root, "secret.key"), given.Keys); err != nil {
		return err
	}
	settings.Members = given.Members
	return peer.Keep(d.peersFolder(), given.Peers)
}

// asServer describes this server in its request to join.
func (d *daemon) asServer(name string) join.Server {
	return join.Server{Name: name, Node: d.ownName(), Keys: keysSum(d.Root), Version: version.Version,
		Schema: schemaVersion}
}

// keysSum returns the hash of the keys in a root; nil if it has none.
func keysSum(root string) []byte {
	content, err := os.ReadFile(filepath.Join(root, "secret.key"))
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(content)
	return sum[:]
}

// ownName returns the name of this server's own node; empty without an agent.
func (d *daemon) ownName() string {
	if d.NoAgent {
		return ""
	}
	return d.Node
}

// echo answers at an address with a random secret until stop is called. Another server reads it there, which proves
// that the address leads to this machine.
func echo(address string, who *join.Server) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, portowner.Refused(address, "--peer-listen", err)
	}
	who.Echo = rand.Text()
	recovery.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(reachTime))
			_, _ = io.WriteString(conn, who.Echo)
			_ = conn.Close()
		}
	})
	return func() { _ = listener.Close() }, nil
}

// voteTime is the time for which a joining server waits for its vote.
const voteTime = 5 * time.Minute

// awaitVote waits until the other servers give this one a vote. It reports to them that it could open everything that
// it needs, and so will stay.
func (d *daemon) awaitVote(ctx context.Context) error {
	if d.etcd == nil || d.peers == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, voteTime,
		fmt.Errorf("this server got no vote within %s: tend servers at another one says which of them are up; each must be",
			voteTime))
	defer cancel()
	ticker := time.NewTicker(controlplane.ElectionTTL / 60)
	defer ticker.Stop()
	var lease store.LeaseID
	for n := 0; !d.etcd.Self().Voting; n++ {
		if n == 0 {
			d.Logger.InfoContext(ctx, "catching up with the other servers", "server", d.Name)
		}
		if n%20 == 0 && (lease == 0 || d.store.KeepAlive(ctx, lease) != nil) {
			var err error
			if lease, err = d.announcePresence(ctx, d.Now().UTC(), ""); err != nil && ctx.Err() == nil {
				d.Logger.DebugContext(ctx, "this server could not announce itself; retrying", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return d.recordState(membership.Voting)
}

// recordState stores the state of this server in its root.
func (d *daemon) recordState(state membership.State) error {
	settings, known, err := d.readPeers()
	if err != nil || !known || settings.State == state {
		return err
	}
	settings.State = state
	return d.writePeers(settings)
}

// removed is called when the other servers report that this one was removed. It stores that in the root, and returns
// the error for the user.
func (d *daemon) removed() error {
	settings, known, err := d.readPeers()
	_, refused := membership.Decide(membership.Start, membership.Removed, membership.Subject{Server: d.Name, Root: d.Root})
	if err != nil || !known {
		return errors.Join(err, refused)
	}
	if settings.State != membership.Voting && settings.State != membership.Removed {
		return errors.Join(d.emptyRoot(), refused) // its join was undone
	}
	return errors.Join(d.recordState(membership.Removed), refused)
}

// abandonTime bounds the removal of a server whose join has failed.
const abandonTime = 10 * time.Second

// abandon undoes the join of this server if it has no vote yet, here and at the other servers. It does nothing when the
// server is stopped by a person; the join then continues at the next start.
func (d *daemon) abandon(ctx context.Context) (empty bool) {
	if d.etcd == nil || d.peers == nil || ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return false
	}
	self := d.etcd.Self()
	if _, known, err := d.readPeers(); err != nil || !known || self.Voting || self.ID == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTime)
	defer cancel()
	// A removed member stops, which may happen before it gets the answer.
	if err := d.etcd.RemoveMember(ctx, self); err != nil && !d.etcd.Removed() {
		d.Logger.WarnContext(ctx,
			"this server could not leave the cluster that it was joining: the others remove it after a while", "error", err)
		return false
	}
	return true
}

// emptyRoot removes the files that an undone join left in the root. This machine must not keep the keys of the
// cluster.
func (d *daemon) emptyRoot() error {
	faults := []error{d.forget()}
	for _, path := range []string{filepath.Join(d.Data, "member"), filepath.Join(d.Root, "secret.key"),
		d.namePath(), d.peersFolder()} {
		faults = append(faults, os.RemoveAll(path))
	}
	return errors.Join(faults...)
}

// forget resets a root that was new at this start, so that it may be used under other names.
func (d *daemon) forget() error {
	if d.used {
		return nil
	}
	return d.Forget()
}

// storeFailed ends the server because its store has failed.
func (d *daemon) storeFailed(err error) {
	if errors.Is(err, etcd.ErrRemoved) {
		err = d.removed()
	}
	d.fatal(err)
}
