package etcd

import (
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"tend.dev/tend/internal/store"
)

func init() {
	// etcd preallocates its log, in two segments of at least this size. A quarter of its default is as much as the
	// largest commit, and leaves room on small disks.
	wal.SegmentSizeBytes = 16 << 20
}

// A single member waits for no other: its election is ten times shorter than by default, and it is ready ten times
// sooner. Each tick costs a server at rest; five in an election are the fewest that etcd accepts.
const (
	tickMs     = 20
	electionMs = 100
)

// Entries kept for followers that lag: a single member has none, and an entry is up to store.MaxBytes of memory. A
// snapshot every thousand commits bounds the log on disk, and how much of it a start reads back into memory.
const (
	snapshotEvery  = 1000
	catchUpEntries = 10
)

// nominal is the address recorded for a single member. No client connects to it, and it stays valid when the data dir
// moves.
var nominal = url.URL{Scheme: "http", Host: "127.0.0.1:2380"}

const (
	// overhead is the room for etcd's encoding of a transaction besides its keys and values.
	overhead = 4 << 20
	// quotaReserve is the difference between this store's quota and etcd's. This store's quota refuses before anything
	// is written. etcd's alarm, which can be raised after a write when commits race, lies behind it and should not be
	// reached.
	quotaReserve = 16 * store.MaxBytes
)

// config returns the member's configuration.
func (s *Store) config() (*embed.Config, error) {
	client, err := urlOr(s.opts.ClientURL, s.sockets.url("client.sock"))
	if err != nil {
		return nil, err
	}
	peer, err := urlOr(s.opts.PeerURL, s.sockets.url("peer.sock"))
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = s.opts.Name, s.opts.DataDir
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{nominal}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{nominal}
	cfg.InitialCluster = s.opts.Name + "=" + nominal.String()
	cfg.InitialClusterToken = "tend-etcd"
	cfg.TickMs, cfg.ElectionMs = tickMs, electionMs
	cfg.QuotaBackendBytes = s.opts.Quota + quotaReserve
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModePeriodic, s.opts.Retention.String()
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = snapshotEvery, catchUpEntries
	cfg.MaxWalFiles, cfg.MaxSnapFiles = 2, 2
	cfg.MaxTxnOps = store.MaxOps
	cfg.MaxRequestBytes = store.MaxBytes + overhead
	cfg.EnableGRPCGateway = false
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(s.logger())
	if s.opts.Peers != nil {
		return cfg, s.configurePeers(cfg)
	}
	return cfg, nil
}

// urlOr returns a TCP address, open to every user of this machine, or a socket for the owner of the data dir.
func urlOr(text string, socket url.URL) (url.URL, error) {
	if text == "" {
		return socket, nil
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
	return url.URL{},
		fmt.Errorf("etcd URL %q: beyond loopback it would need TLS, which this version does not have: use http://127.0.0.1:PORT", text)
}
