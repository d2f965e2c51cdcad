package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/nodeapi/authority"
	"tend.dev/tend/internal/nodeapi/join"
	"tend.dev/tend/internal/peer"
	"tend.dev/tend/internal/recovery"
	"tend.dev/tend/internal/secret"
	"tend.dev/tend/internal/store/etcd"
)

// peerSettings are how other servers reach this one's store. They are remembered: a store with several members finds no
// quorum without them.
type peerSettings struct {
	Name   string `json:"name"`
	Listen string `json:"listen"`
	URL    string `json:"url"`
	// Members are those of the cluster that this server joined.
	Members map[string]string `json:"members,omitempty"`
	// Cluster is the uid of the cluster in an external etcd; empty if the store is in this server.
	Cluster string `json:"cluster,omitempty"`
}

// errNoGate is returned for a server beside others that they and the agents can't ask anything.
var errNoGate = errors.New("a server beside others needs a listener for them and for agents: start it with --node-listen :8688")

func (d *daemon) peersFolder() string { return filepath.Join(d.Root, "peers") }

// openPeers returns how this server's store reaches those of others; nil if it is to be alone.
func (d *daemon) openPeers(ctx context.Context) (*etcd.Peers, error) {
	settings, known, err := d.readPeers()
	if err != nil {
		return nil, err
	}
	if settings.Cluster != "" {
		if !d.hasMember() {
			return nil, d.errExternalRoot(settings)
		}
		settings, known = peerSettings{}, false // tend restore has made a store here since
	}
	if err := d.chooseName(settings, known); err != nil {
		return nil, err
	}
	if !known && d.PeerListen == "" && d.Join == "" {
		return nil, nil
	}
	if d.NodeListen == "" && d.Nodes == nil {
		return nil, errNoGate
	}
	if err := d.choosePeers(&settings); err != nil {
		return nil, err
	}
	if d.Join != "" && !known {
		if err := d.joinServers(ctx, &settings); err != nil {
			return nil, err
		}
	}
	if err := d.writePeers(settings); err != nil {
		return nil, err
	}
	if d.peers, err = peer.Open(d.peersFolder(), d.Now); err != nil {
		return nil, err
	}
	own, err := url.Parse(settings.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.peersPath(), err)
	}
	d.peerHost = own.Hostname()
	certificate, key, root := d.peers.Files()
	return &etcd.Peers{
		Listen: settings.Listen, URL: settings.URL, Members: settings.Members,
		Certificate: certificate, Key: key, Authority: root, Name: authority.PeerName,
	}, nil
}

func (d *daemon) peersPath() string { return filepath.Join(d.peersFolder(), "server.json") }

func (d *daemon) readPeers() (settings peerSettings, known bool, err error) {
	text, err := os.ReadFile(d.peersPath())
	if errors.Is(err, fs.ErrNotExist) {
		return settings, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil {
		return settings, false, fmt.Errorf("read %s: %w", d.peersPath(), err)
	}
	return settings, true, nil
}

func (d *daemon) writePeers(settings peerSettings) error {
	text, err := json.Marshal(settings)
	if err == nil {
		err = os.MkdirAll(d.peersFolder(), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(d.peersPath(), append(text, '\n'), 0o600, renameio.WithTempDir(d.peersFolder()))
	}
	if err != nil {
		return fmt.Errorf("remember the other servers: %w", err)
	}
	return nil
}

// firstName is the name of a cluster's first server.
const firstName = "tend-0"

// chooseName fills in the server's name. The others know it by that: it can't be changed.
func (d *daemon) chooseName(settings peerSettings, known bool) error {
	if known && d.Name != "" && d.Name != settings.Name {
		return fmt.Errorf("--name %s: this server is %s of its cluster, and keeps that name: leave the flag out; one of another name joins with an empty --root",
			d.Name, settings.Name)
	}
	orString(&d.Name, settings.Name)
	if host, err := os.Hostname(); err == nil && d.Join != "" {
		orString(&d.Name, host)
	}
	orString(&d.Name, firstName)
	return nil
}

// choosePeers fills the settings from the options.
func (d *daemon) choosePeers(settings *peerSettings) error {
	settings.Name = d.Name
	if d.PeerListen != "" {
		settings.Listen, settings.URL = d.PeerListen, ""
	}
	host, port, err := net.SplitHostPort(settings.Listen)
	if err != nil {
		return fmt.Errorf("--peer-listen %q: give the address where the other servers reach this one, as in 10.0.0.1:2380", settings.Listen)
	}
	switch ip := net.ParseIP(host); {
	case d.PeerAddress != "":
		if host, port, err = net.SplitHostPort(d.PeerAddress); err != nil || host == "" {
			return fmt.Errorf("--peer-address %q: give HOST:PORT", d.PeerAddress)
		}
		settings.URL = "https://" + net.JoinHostPort(host, port)
	case settings.URL != "":
	case host == "" || ip != nil && ip.IsUnspecified():
		return fmt.Errorf("--peer-listen %q is every address of this machine: give the one where the other servers reach it with --peer-address HOST:PORT", settings.Listen)
	default:
		settings.URL = "https://" + net.JoinHostPort(host, port)
	}
	return nil
}

// joinServers has another server add this one, and stores what it gets: first the keys, last the members.
func (d *daemon) joinServers(ctx context.Context, settings *peerSettings) error {
	if _, err := os.Stat(filepath.Join(d.Data, "member")); err == nil {
		return fmt.Errorf("%s holds the store of another cluster: join with an empty --root", d.Data)
	}
	server, err := join.ServerURL(d.Join)
	if err != nil {
		return err
	}
	d.Logger.InfoContext(ctx, "joining the servers of a cluster", "through", server, "server", settings.Name, "store", settings.URL)
	given, err := join.JoinServer(ctx, nil, server, d.Token, join.Server{Name: settings.Name, URL: settings.URL})
	if err != nil {
		return err
	}
	if err := secret.Keep(filepath.Join(d.Root, "secret.key"), given.Keys); err != nil {
		return err
	}
	settings.Members = given.Members
	return peer.Keep(d.peersFolder(), given.Peers)
}

// admit adds another server to the store's, and gives it what it needs.
func (d *daemon) admit(ctx context.Context, who join.Server) (given join.Admission, err error) {
	if rotated := d.rotation.Running(); rotated != "" {
		return given, &api.Problem{Title: "ServerRefused", Status: http.StatusConflict, Detail: "the key " + rotated + " is being rotated: no server joins meanwhile",
			Next: "wait for its end: tend keys"}
	}
	if d.external != nil {
		return d.admitExternal(ctx, who)
	}
	if who.URL == "" {
		return given, &api.Problem{Title: "ServerRefused", Status: http.StatusConflict, Detail: "the store of this cluster is in its servers, not in an external etcd",
			Next: "join without --etcd-endpoints, and with --peer-listen HOST:PORT"}
	}
	err = d.etcd.AddMember(ctx, who.Name, who.URL)
	if errors.Is(err, etcd.ErrMember) {
		return given, &api.Problem{Title: "ServerRefused", Status: http.StatusConflict, Detail: err.Error(), Next: "tend servers"}
	}
	if err != nil {
		return given, err
	}
	given.Members = map[string]string{who.Name: who.URL}
	for _, m := range d.etcd.Members() {
		if m.URL != who.URL {
			given.Members[nameOf(m)] = m.URL
		}
	}
	if given.Keys, err = os.ReadFile(filepath.Join(d.Root, "secret.key")); err != nil {
		return given, fmt.Errorf("read the cluster's keys: %w", err)
	}
	given.Peers, err = d.peers.Authority()
	d.Logger.InfoContext(ctx, "a server joins", "server", who.Name, "store", who.URL)
	return given, err
}

// nameOf returns the name of a member, or what stands for it until it has started.
func nameOf(m etcd.Member) string {
	if m.Name == "" {
		return fmt.Sprintf("%x", m.ID)
	}
	return m.Name
}

// promoteEvery is the interval between two looks for servers that have caught up.
const promoteEvery = 500 * time.Millisecond

// promote gives servers a vote when their stores have caught up, and keeps this one's certificate for them, until ctx ends.
func (d *daemon) promote(ctx context.Context) error {
	renewed := make(chan error, 1)
	recovery.Go(func() {
		renewed <- recovery.Keep(ctx, func(ctx context.Context) error { return d.peers.Renew(ctx, d.Logger) })
	})
	ticker := time.NewTicker(promoteEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return <-renewed
		case <-ticker.C:
		}
		if err := d.etcd.PromoteMembers(ctx); err != nil && ctx.Err() == nil {
			d.Logger.WarnContext(ctx, "a server can't get its vote; it is tried again", "error", err)
		}
	}
}
