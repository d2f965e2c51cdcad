package docker

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
)

// platformNetwork is the bridge that every container with an address joins. It is created when the first one needs it,
// and assumed to exist from then on, until a create fails because it doesn't.
type platformNetwork struct {
	runtime *Runtime
	name    string

	mu    sync.Mutex
	known bool
	// gateway is the node's own address in the network, if the engine reports one.
	gateway netip.Addr
}

// ensureNetworks creates the platform network if the container joins it. Tend does not create other networks: the
// create fails if one is missing.
func (r *Runtime) ensureNetworks(ctx context.Context, request *request) error {
	if !slices.ContainsFunc(request.endpoints, func(e endpoint) bool { return e.network == r.network.name }) {
		return nil
	}
	if err := r.network.ensure(ctx); err != nil {
		return err
	}
	gateway := r.network.address()
	request.reachNodeAt(gateway)
	answers, err := r.options.Resolver(gateway)
	if err != nil {
		return r.fault("platform network "+r.network.name, err)
	}
	if answers {
		request.resolveAt(gateway)
	}
	return nil
}

// Gateway returns the address at which containers of the platform network reach their node. It creates a missing
// network.
func (r *Runtime) Gateway(ctx context.Context) (netip.Addr, error) {
	if err := r.network.ensure(ctx); err != nil {
		return netip.Addr{}, err
	}
	gateway := r.network.address()
	if _, local := r.local(); !local || !gateway.IsValid() {
		return netip.Addr{}, fmt.Errorf("the network %s has no gateway on this machine", r.network.name)
	}
	return gateway, nil
}

// Subnet returns the subnet of the platform network; invalid if the network doesn't exist yet.
func (r *Runtime) Subnet(ctx context.Context) (netip.Prefix, error) {
	found, err := r.network.find(ctx)
	if err != nil || len(found) == 0 {
		return netip.Prefix{}, r.fault("list networks", err)
	}
	for _, config := range found[0].IPAM.Config {
		if config.Subnet.Addr().Is4() {
			return config.Subnet, nil
		}
	}
	return netip.Prefix{}, nil
}

// RemoveNetwork removes the platform network if this cluster created it and it has no container any more, running or
// not.
func (r *Runtime) RemoveNetwork(ctx context.Context) error {
	containers, err := r.List(ctx)
	if err != nil || len(containers) > 0 {
		return err
	}
	found, err := r.network.find(ctx)
	if err != nil {
		return r.fault("list networks", err)
	}
	for _, network := range found {
		if network.Labels[api.LabelCluster] != r.options.Cluster {
			continue
		}
		if _, err := r.client.NetworkRemove(ctx, network.ID, client.NetworkRemoveOptions{}); err != nil &&
			!cerrdefs.IsNotFound(err) {
			return r.fault("remove network "+r.network.name, err)
		}
	}
	return nil
}

func (n *platformNetwork) address() netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gateway
}

func (n *platformNetwork) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = false
}

// ensure finds or creates the network; concurrent callers wait for the first one's result.
func (n *platformNetwork) ensure(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known {
		return nil
	}
	found, err := n.find(ctx)
	if err == nil && len(found) == 0 {
		err = n.create(ctx)
	}
	if err == nil {
		err = n.settle(ctx)
	}
	if err != nil {
		return n.runtime.fault("platform network "+n.name, err)
	}
	n.known = true
	return nil
}

// find lists the networks of the name: none, one, or for a moment several (older engines permit that).
func (n *platformNetwork) find(ctx context.Context) ([]network.Summary, error) {
	filters := make(client.Filters).Add("name", "^"+n.name+"$")
	listed, err := n.runtime.client.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	return listed.Items, err
}

// create creates the network. If it fails because another process was faster (a conflict of names, or of subnets), it
// waits for that one.
func (n *platformNetwork) create(ctx context.Context) error {
	options := client.NetworkCreateOptions{
		Driver: network.NetworkBridge,
		Labels: map[string]string{api.LabelCluster: n.runtime.options.Cluster},
	}
	subnet, mtu, err := n.runtime.options.NetworkSubnet()
	if err != nil {
		return err
	}
	if subnet.IsValid() {
		options.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet, Gateway: subnet.Masked().Addr().Next()}}}
		options.Options = map[string]string{"com.docker.network.driver.mtu": strconv.Itoa(mtu),
			trustedInterfaces: api.OverlayDevice}
	}
	created, err := n.runtime.client.NetworkCreate(ctx, n.name, options)
	if err != nil {
		return n.await(ctx, err)
	}
	n.runtime.log.InfoContext(ctx, "created the platform network", "network", n.name, "network_id", short(created.ID))
	return n.yield(ctx, created.ID)
}

// trustedInterfaces is the option with the interfaces from which newer engines accept packets to containers' addresses;
// older engines don't know it and accept all.
const trustedInterfaces = "com.docker.network.bridge.trusted_host_interfaces"

// await waits for the network of a faster process, whose subnet may be in use a moment before the network is visible;
// failure is the error that pointed to it.
func (n *platformNetwork) await(ctx context.Context, failure error) error {
	for found := range n.polls(ctx, 40) {
		if len(found) > 0 {
			return nil
		}
		if !cerrdefs.IsConflict(failure) && !containsAll(failure.Error(), []string{"overlap"}) {
			break
		}
	}
	return failure
}

// yield removes the network that this process created if another process created one of the same name at the same time.
// The oldest stays; every process applies the same rule.
func (n *platformNetwork) yield(ctx context.Context, own string) error {
	found, err := n.find(ctx)
	if err != nil || len(found) < 2 || oldest(found).ID == own {
		return err
	}
	_, err = n.runtime.client.NetworkRemove(ctx, own, client.NetworkRemoveOptions{})
	if cerrdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// settle waits until there is exactly one network of the name: the engine refuses two as ambiguous. Each process that
// created a network removes it again unless it is the oldest.
func (n *platformNetwork) settle(ctx context.Context) error {
	for found := range n.polls(ctx, 200) {
		if len(found) == 1 {
			n.gateway = gatewayOf(found[0])
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return &runtime.RejectedError{
		Reason: "NetworkAmbiguous", Detail: "there is not one network of the name " + n.name,
		Next: "remove all but one with docker network rm <id>",
	}
}

// gatewayOf returns the first gateway of a network; invalid if it has none. An engine that was given a subnet doesn't
// report the gateway that it chose, which is the first address.
func gatewayOf(found network.Summary) netip.Addr {
	for _, config := range found.IPAM.Config {
		if config.Gateway.IsValid() {
			return config.Gateway
		}
		if config.Subnet.IsValid() {
			return config.Subnet.Masked().Addr().Next()
		}
	}
	return netip.Addr{}
}

// polls yields the networks of the name every 50 ms, at most the given number of times.
func (n *platformNetwork) polls(ctx context.Context, times int) iter.Seq[[]network.Summary] {
	return func(yield func([]network.Summary) bool) {
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		for range times {
			found, err := n.find(ctx)
			if err != nil || !yield(found) {
				return
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
	}
}

func oldest(found []network.Summary) network.Summary {
	return slices.MinFunc(found, func(a, b network.Summary) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}

// lacks reports whether the engine did not find this network, or found two.
func (n *platformNetwork) lacks(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "network "+n.name+" not found") ||
		strings.Contains(text, "network "+n.name+" is ambiguous")
}
