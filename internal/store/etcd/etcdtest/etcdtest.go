// Package etcdtest starts etcd clusters of their own for tests of what uses an external etcd.
//
// Each test has its own loopback addresses, certificates and data. Example: etcdtest.Start(t, etcdtest.Options{Members:
// 3}).
package etcdtest

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Options are the options of a cluster. The zero value is one member with TLS and the limits that Tend needs.
type Options struct {
	// Members is the number of members. Default 1.
	Members int
	// TxnOps bounds the operations of a transaction. Default 10,000.
	TxnOps uint
	// Quota is the size of the database, in bytes, beyond which etcd refuses writes. Default 2 GiB.
	Quota int64
	// Plain leaves out TLS.
	Plain bool
}

// Cluster is a running etcd.
type Cluster struct {
	// Endpoints are the members' URLs.
	Endpoints []string
	// CA, Certificate and Key are the files that a client needs.
	CA, Certificate, Key string

	t       *testing.T
	opts    Options
	info    transport.TLSInfo
	folder  string
	hosts   []string
	members []*embed.Etcd
}

// hosts counts the loopback addresses that were used.
var hosts atomic.Int32

// Start starts a cluster that ends with the test.
func Start(t *testing.T, opts Options) *Cluster {
	t.Helper()
	if opts.Members == 0 {
		opts.Members = 1
	}
	if opts.TxnOps == 0 {
		opts.TxnOps = 10_000
	}
	c := &Cluster{t: t, opts: opts, folder: t.TempDir(), members: make([]*embed.Etcd, opts.Members)}
	for range opts.Members {
		n := int(hosts.Add(1)) // the second byte of other tests' loopback addresses is at most 128
		host := fmt.Sprintf("127.%d.%d.%d", 129+os.Getpid()%120, n/250, 1+n%250)
		c.hosts = append(c.hosts, host)
		client := url.URL{Scheme: "https", Host: host + ":2379"}
		if opts.Plain {
			client.Scheme = "http"
		}
		c.Endpoints = append(c.Endpoints, client.String())
	}
	if !opts.Plain {
		c.info = Certificate(t, c.hosts...)
		c.info.ClientCertAuth = true
		c.CA, c.Certificate, c.Key = c.info.TrustedCAFile, c.info.CertFile, c.info.KeyFile
	}
	t.Cleanup(func() {
		for i := range c.members {
			c.Stop(i)
		}
	})
	all := make([]int, opts.Members)
	for i := range all {
		all[i] = i
	}
	c.Resume(all...)
	return c
}

// Certificate returns the files of a certificate for some hosts, of an authority that no cluster trusts.
func Certificate(t *testing.T, hosts ...string) transport.TLSInfo {
	t.Helper()
	var addresses []string
	for _, host := range hosts {
		addresses = append(addresses, host+":0")
	}
	info, err := transport.SelfCert(zap.NewNop(), filepath.Join(t.TempDir(), "tls"), addresses, 1,
		x509.ExtKeyUsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	info.TrustedCAFile = info.CertFile
	return info
}

// Stop stops a member; its data stays.
func (c *Cluster) Stop(member int) {
	if c.members[member] != nil {
		c.members[member].Close()
		c.members[member] = nil
	}
}

// Resume starts members and waits until they serve.
func (c *Cluster) Resume(members ...int) {
	c.t.Helper()
	for _, i := range members {
		started, err := embed.StartEtcd(c.config(i))
		if err != nil {
			c.t.Fatal(err)
		}
		c.members[i] = started
	}
	deadline := time.After(time.Minute)
	for _, i := range members {
		select {
		case <-c.members[i].Server.ReadyNotify():
		case <-deadline:
			c.t.Fatalf("member %d of etcd is not ready", i)
		}
	}
}

// config returns the configuration of a member.
func (c *Cluster) config(member int) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = fmt.Sprint("m", member), filepath.Join(c.folder, fmt.Sprint("m", member))
	var all []string
	for i, host := range c.hosts {
		all = append(all, fmt.Sprintf("m%d=http://%s:2380", i, host))
	}
	client, err := url.Parse(c.Endpoints[member])
	if err != nil {
		c.t.Fatal(err)
	}
	peer := url.URL{Scheme: "http", Host: c.hosts[member] + ":2380"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster, cfg.ClientTLSInfo = strings.Join(all, ","), c.info
	cfg.MaxTxnOps, cfg.MaxRequestBytes, cfg.QuotaBackendBytes = c.opts.TxnOps, 20<<20, c.opts.Quota
	if c.opts.Members == 1 {
		cfg.TickMs, cfg.ElectionMs = 10, 100
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.BcryptCost = 4 // the lowest cost: under the race detector the default takes seconds for each login
	return cfg
}
