package etcd

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"

	"tend.dev/tend/internal/store"
)

// One member has nobody to hear from: it may tick ten times faster than the defaults, and is ready ten times sooner.
const (
	tickMs     = 10
	electionMs = 100
)

// nominal is the address the one member is recorded under. Nobody dials it, and it stays true when the data dir moves.
var nominal = url.URL{Scheme: "http", Host: "127.0.0.1:2380"}

// overhead is what etcd's encoding of a transaction takes beside its keys and values.
const overhead = 4 << 20

// config is the member's configuration; sockets is a folder to remove at the end, or empty.
func config(o Options) (cfg *embed.Config, sockets string, err error) {
	clientURL, peerURL, sockets, err := o.urls()
	if err != nil {
		return nil, sockets, err
	}
	cfg = embed.NewConfig()
	cfg.Name, cfg.Dir = o.Name, o.DataDir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{clientURL}, []url.URL{nominal}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peerURL}, []url.URL{nominal}
	cfg.InitialCluster = o.Name + "=" + nominal.String()
	cfg.InitialClusterToken = "tend-etcd"
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	cfg.QuotaBackendBytes = o.Quota
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, o.Retention.String()
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = 5000, 500 // entries are kept in memory until a snapshot
	cfg.MaxTxnOps = store.MaxOps
	cfg.MaxRequestBytes = store.MaxBytes + overhead
	cfg.EnableGRPCGateway = false
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger(o))
	return cfg, sockets, nil
}

// urls are where the member listens.
func (o Options) urls() (client, peer url.URL, sockets string, err error) {
	dir := o.DataDir
	if o.ClientURL == "" || o.PeerURL == "" {
		if dir, sockets, err = socketDir(o.DataDir); err != nil {
			return client, peer, "", err
		}
	}
	if client, err = urlOr(o.ClientURL, dir, "client.sock"); err == nil {
		peer, err = urlOr(o.PeerURL, dir, "peer.sock")
	}
	return client, peer, sockets, err
}

func urlOr(text, dir, socket string) (url.URL, error) {
	if text == "" {
		path := filepath.Join(dir, socket)
		// The lock is ours, so a socket that is there was left by a dead process.
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return url.URL{}, fmt.Errorf("remove the old socket %s: %w", path, err)
		}
		return url.URL{Scheme: "unix", Host: path}, nil // peers are served at the host part alone
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return url.URL{}, fmt.Errorf("etcd URL %q: %w", text, err)
	}
	if parsed.Scheme != "http" || parsed.Port() == "" {
		return url.URL{}, fmt.Errorf("etcd URL %q: use http://127.0.0.1:PORT", text)
	}
	switch parsed.Hostname() {
	case "127.0.0.1", "::1", "localhost":
		return *parsed, nil
	}
	return url.URL{}, fmt.Errorf("etcd URL %q: beyond loopback it would need TLS, which this version does not have: use http://127.0.0.1:PORT", text)
}

// maxSocketPath is what the kernel takes for the path of a unix socket, less the longest file name here.
const maxSocketPath = 107 - len("/client.sock")

// socketDir is where the sockets lie: the data dir, or a private folder where its path is too long for a socket.
func socketDir(dataDir string) (dir, remove string, err error) {
	if len(dataDir) <= maxSocketPath {
		return dataDir, "", nil
	}
	dir, err = os.MkdirTemp("", "tend-etcd-") // mode 0700
	if err != nil {
		return "", "", fmt.Errorf("make a folder for etcd's sockets: %w", err)
	}
	return dir, dir, nil
}
