package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"tend.dev/tend/internal/core/membership"
	"tend.dev/tend/internal/node/nodeapi/authority"
	"tend.dev/tend/internal/node/peer"
	"tend.dev/tend/internal/store/etcd"
)

// errNoGate is returned for a server beside others without a listener for them and for agents.
var errNoGate = errors.New("a server beside others needs a listener for them and for agents: start it with --node-listen :8688")

func (d *daemon) peersFolder() string { return filepath.Join(d.Root, "peers") }

// openPeers returns the settings with which this server's store connects to others; nil for a single server.
func (d *daemon) openPeers(ctx context.Context) (*etcd.Peers, error) {
	settings, known, err := d.readPeers()
	if err != nil {
		return nil, err
	}
	if settings.Cluster != "" {
		if !d.hasMember() {
			return nil, d.errExternalRoot(settings)
		}
		settings, known = peer.Settings{}, false // tend restore has made a store here since
	}
	if err := d.chooseName(settings, known); err != nil {
		return nil, err
	}
	if !known && d.PeerListen == "" && d.Join == "" {
		return nil, nil
	}
	if d.NodeListen == "" && d.Nodes == nil {
		d.NodeListen = settings.NodeListen
	}
	if d.NodeListen == "" && d.Nodes == nil {
		return nil, errNoGate
	}
	settings.NodeListen = d.NodeListen
	if known && !d.hasMember() {
		if _, refused := membership.Decide(membership.StartWiped, settings.State,
			membership.Subject{Server: settings.Name, Root: d.Root}); refused != nil {
			return nil, refused
		}
	}
	if err := d.choosePeers(&settings); err != nil {
		return nil, err
	}
	d.PeerListen = settings.Listen // no pod may listen there
	if !known {
		settings.State = membership.Added
	}
	if d.Join != "" && !known {
		if err := d.joinServers(ctx, &settings); err != nil {
			return nil, errors.Join(err, d.forget())
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
		return nil, fmt.Errorf("%s: %w", d.peersFolder(), err)
	}
	d.peerHost = own.Hostname()
	certificate, key, root := d.peers.Files()
	return &etcd.Peers{
		Listen: settings.Listen, URL: settings.URL, Members: settings.Members,
		Certificate: certificate, Key: key, Authority: root, Name: authority.PeerName,
	}, nil
}

func (d *daemon) readPeers() (settings peer.Settings, known bool, err error) {
	return peer.ReadSettings(d.peersFolder())
}

func (d *daemon) writePeers(settings peer.Settings) error {
	return peer.WriteSettings(d.peersFolder(), settings)
}

// chooseName fills in the server's name. Among several servers the name can't be changed later, since the others know
// it.
func (d *daemon) chooseName(settings peer.Settings, known bool) error {
	if known && d.Name != "" && d.Name != settings.Name {
		return fmt.Errorf("--name %s: this server is %s of its cluster, and keeps that name: leave the flag out; one of another name joins with an empty --root",
			d.Name, settings.Name)
	}
	remembered, err := os.ReadFile(d.namePath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read this server's name: %w", err)
	}
	d.Name = membership.NameOf(d.Name, cmp.Or(settings.Name, strings.TrimSpace(string(remembered))), d.hasMember(), d.Node)
	return nil
}

func (d *daemon) namePath() string { return filepath.Join(d.Root, "server") }

// rememberName stores the server's name in its root, once the name is accepted.
func (d *daemon) rememberName() error {
	text := []byte(d.Name + "\n")
	if known, err := os.ReadFile(d.namePath()); err == nil && bytes.Equal(known, text) {
		return nil
	}
	if err := renameio.WriteFile(d.namePath(), text, 0o600, renameio.WithTempDir(d.Root)); err != nil {
		return fmt.Errorf("remember this server's name: %w", err)
	}
	return nil
}

// choosePeers fills the settings from the options.
func (d *daemon) choosePeers(settings *peer.Settings) error {
	settings.Name = d.Name
	if d.PeerListen != "" {
		settings.Listen, settings.URL = d.PeerListen, ""
	}
	host, port, err := net.SplitHostPort(settings.Listen)
	if err != nil {
		return fmt.Errorf("--peer-listen %q: give the address where the other servers reach this one, as in 10.0.0.1:2380",
			settings.Listen)
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
