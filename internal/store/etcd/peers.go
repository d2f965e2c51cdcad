package etcd

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

// Peers makes the member one of several, or lets others join it. Members talk over TLS, both sides with a certificate
// of an authority that issues no others.
type Peers struct {
	// Listen is the address at which the member listens for others, URL its address for them: https://HOST:PORT.
	Listen, URL string
	// Certificate, Key and Authority are the paths of PEM files. The member reads the certificate and its key for
	// every connection.
	Certificate, Key, Authority string
	// Name is the name in the certificates of all members.
	Name string
	// Members are the URLs of the cluster that this member was added to, its own included, by name. Only the first start
	// of a data dir needs them; without them, it is the first member of a new cluster.
	Members map[string]string
}

// Several members wait for each other over a network: etcd's own defaults, made for that.
const (
	peerTickMs     = 100
	peerElectionMs = 1000
	// peerCatchUp is the number of entries kept for members that lag, each up to store.MaxBytes of memory.
	peerCatchUp = 500
)

// configurePeers changes the configuration of a single member to that of one of several.
func (s *Store) configurePeers(cfg *embed.Config) error {
	p := s.opts.Peers
	own, err := url.Parse(p.URL)
	if err != nil || own.Scheme != "https" || own.Port() == "" {
		return fmt.Errorf("the peer URL %q: use https://HOST:PORT", p.URL)
	}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{{Scheme: "https", Host: p.Listen}}, []url.URL{*own}
	cfg.PeerTLSInfo = transport.TLSInfo{
		CertFile: p.Certificate, KeyFile: p.Key, TrustedCAFile: p.Authority, ClientCertAuth: true, ServerName: p.Name,
		SkipClientSANVerify: true, // the certificate names the member, not an address
	}
	cfg.TickMs, cfg.ElectionMs, cfg.SnapshotCatchUpEntries = peerTickMs, peerElectionMs, peerCatchUp
	cfg.InitialCluster = s.opts.Name + "=" + p.URL
	if len(p.Members) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(p.Members)) {
			all = append(all, name+"="+p.Members[name])
		}
		cfg.InitialCluster, cfg.ClusterState = strings.Join(all, ","), embed.ClusterStateFlagExisting
	}
	return nil
}
