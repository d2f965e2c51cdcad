package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// runBareEtcd is the peer of a boot: only an embedded etcd, opened by etcd's own package with the settings of
// internal/store/etcd for a single member. It prints "ready" once a write succeeded, and serves until its input ends.
func runBareEtcd(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	server, err := embed.StartEtcd(bareConfig(dir))
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	}
	client := v3client.New(server.Server)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := client.Put(ctx, "/bench/boot", dir); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// bareConfig repeats the settings of internal/store/etcd: its ticks, sockets, quota, compaction and limits.
func bareConfig(dir string) *embed.Config {
	c := embed.NewConfig()
	c.Name, c.Dir = "bench", filepath.Join(dir, "data")
	nominal := []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{{Scheme: "unix", Host: filepath.Join(dir, "c.sock")}}, nominal
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{{Scheme: "unix", Host: filepath.Join(dir, "p.sock")}}, nominal
	c.InitialCluster = c.Name + "=" + nominal[0].String()
	wal.SegmentSizeBytes = 16 << 20
	c.TickMs, c.ElectionMs = 20, 100
	c.QuotaBackendBytes = 2<<30 + 256<<20
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, "10m"
	c.SnapshotCount, c.SnapshotCatchUpEntries, c.MaxWalFiles, c.MaxSnapFiles = 1000, 10, 2, 2
	c.MaxTxnOps, c.MaxRequestBytes = 10_000, 20<<20
	c.EnableGRPCGateway = false
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return c
}
