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
	"go.uber.org/zap"
)

// runBareEtcd is the peer of a boot: an embedded etcd and nothing else, opened directly with etcd's own package under the
// settings internal/store/etcd uses for a single member. It says "ready" once a write went through, and works until its
// input ends.
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

func bareConfig(dir string) *embed.Config {
	c := embed.NewConfig()
	c.Name = "bench"
	c.Dir = filepath.Join(dir, "data")
	socket := func(name string) []url.URL { return []url.URL{{Scheme: "unix", Path: filepath.Join(dir, name)}} }
	c.ListenClientUrls, c.AdvertiseClientUrls = socket("c"), socket("c")
	c.ListenPeerUrls, c.AdvertisePeerUrls = socket("p"), socket("p")
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs = 10, 100
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModeRevision, "10000"
	c.MaxTxnOps, c.MaxRequestBytes = 10_000, 16<<20
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	return c
}
