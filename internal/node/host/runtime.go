package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/docker"
	"tend.dev/tend/internal/node/runtime/process"
)

// The runtimes a server may use.
const (
	runtimeDocker  = api.RuntimeDocker
	runtimeProcess = api.RuntimeProcess
)

func (h *Host) newRuntime(ctx context.Context, cluster, node string) (runtime.Runtime, error) {
	switch h.Runtime {
	case runtimeDocker:
		return docker.New(ctx, docker.Options{
			Host: h.DockerHost, Cluster: cluster, Node: node, NetworkName: h.Network, NetworkSubnet: h.subnet,
			Resolver: h.resolve, Logger: h.Logger,
			Auth: docker.WithRegistries(h.registryFor, docker.UserAuth()),
		})
	case runtimeProcess:
		return process.New(process.Options{
			Root: h.Root, Cluster: cluster, Node: node, Seal: h.Seal, Open: h.Open, Logger: h.Logger,
		})
	}
	return nil, fmt.Errorf("unknown runtime %q: want %s or %s", h.Runtime, runtimeDocker, runtimeProcess)
}

// ownNetworks begins the names of private servers' networks.
const ownNetworks = "tend-dev-"

// Private sets the options of a private server beside others: a network of its own, and plain processes if no container
// engine answers. The choices of the root's first use stay.
func Private(ctx context.Context, o *Options) error {
	if o.Network == "" {
		sum := sha256.Sum256([]byte(o.Root))
		o.Network = rememberedOr(o.Root, "network", ownNetworks+hex.EncodeToString(sum[:4]))
		o.ownNetwork = strings.HasPrefix(o.Network, ownNetworks)
	}
	if o.Runtime != "" || o.Engine != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	probe, err := docker.New(ctx, docker.Options{Host: o.DockerHost, Cluster: "probe", Node: "probe"})
	if err != nil {
		return err
	}
	defer probe.Close()
	fallback := runtimeDocker
	if _, err := probe.Info(ctx); err != nil {
		fallback = runtimeProcess
	}
	o.Runtime = rememberedOr(o.Root, "runtime", fallback)
	return nil
}

// leaveNetwork removes a private server's network when it ends, unless some of its containers are left; they keep
// running without the server.
func (h *Host) leaveNetwork(remove func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := remove(ctx); err != nil {
		h.Logger.Warn("the network stays", "network", h.Network, "error", err)
	}
	return nil
}
