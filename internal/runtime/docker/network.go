package docker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"tend.dev/tend/api"
)

// platformNetwork is the bridge that every container with an address joins. It is made when the first one needs it, and
// known from then on until a create says that it is gone.
type platformNetwork struct {
	runtime *Runtime
	name    string

	mu    sync.Mutex
	known bool
}

// ensureNetworks makes sure of the platform network where the container joins it. Others are not ours to make: the
// engine's answer to the create tells if they are missing.
func (r *Runtime) ensureNetworks(ctx context.Context, request *request) error {
	if !slices.ContainsFunc(request.endpoints, func(e endpoint) bool { return e.network == r.network.name }) {
		return nil
	}
	return r.network.ensure(ctx)
}

func (n *platformNetwork) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = false
}

// ensure finds or makes the network; callers that come meanwhile wait for the first one's answer.
func (n *platformNetwork) ensure(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known {
		return nil
	}
	_, err := n.runtime.client.NetworkInspect(ctx, n.name, client.NetworkInspectOptions{})
	if cerrdefs.IsNotFound(err) {
		err = n.create(ctx)
	}
	if err != nil {
		return fault("platform network "+n.name, err)
	}
	n.known = true
	return nil
}

func (n *platformNetwork) create(ctx context.Context) error {
	options := client.NetworkCreateOptions{
		Driver: network.NetworkBridge,
		Labels: map[string]string{api.LabelCluster: n.runtime.options.Cluster},
	}
	if subnet := n.runtime.options.NetworkSubnet; subnet.IsValid() {
		options.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet}}}
	}
	created, err := n.runtime.client.NetworkCreate(ctx, n.name, options)
	if err != nil {
		if _, missing := n.runtime.client.NetworkInspect(ctx, n.name, client.NetworkInspectOptions{}); missing == nil {
			return nil // another process was quicker: a conflict of names, or of subnets
		}
		return err
	}
	n.runtime.log.InfoContext(ctx, "created the platform network", "network", n.name, "id", short(created.ID))
	return n.yield(ctx, created.ID)
}

// yield removes our own network if another process made one of the same name at the same time: older engines allow
// that, and then refuse both as ambiguous. The oldest stays; everyone decides alike.
func (n *platformNetwork) yield(ctx context.Context, own string) error {
	filters := make(client.Filters).Add("name", "^"+n.name+"$")
	listed, err := n.runtime.client.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	if err != nil {
		return err
	}
	if len(listed.Items) < 2 {
		return nil
	}
	oldest := slices.MinFunc(listed.Items, func(a, b network.Summary) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	if oldest.ID == own {
		return nil
	}
	if _, err := n.runtime.client.NetworkRemove(ctx, own, client.NetworkRemoveOptions{}); err != nil && !cerrdefs.IsNotFound(err) {
		return fmt.Errorf("remove the second network %s: %w", short(own), err)
	}
	return nil
}
