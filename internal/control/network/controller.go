package network

import (
	"context"
	"maps"
	"net/netip"
	"strings"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/core/subnet"
	"tend.dev/tend/internal/engine"
	"tend.dev/tend/internal/records"
	"tend.dev/tend/internal/store/view"
)

// Controller reconciles the network.
type Controller struct {
	control.Reporter[api.NetworkStatus]
}

// Kind is the row of the network in the table of controllers.
var Kind = control.Kind{
	KindInfo: api.KindNetwork.Info(),
	New:      func(deps control.Deps) control.Controller { return New(deps) },
}

// New returns the controller of the network.
func New(deps control.Deps) *Controller {
	return &Controller{control.Reporter[api.NetworkStatus]{Deps: deps.Defaults(), Kind: api.KindNetwork, Status: status}}
}

// Affected returns the network for a change of itself or of a node.
func (c *Controller) Affected(s records.Snapshot, change view.Change) []engine.Key {
	value := change.New
	if value == nil {
		value = change.Old
	}
	if strings.HasPrefix(change.Key, records.AlivePrefix) && (change.Old == nil || change.Deleted) {
		return []engine.Key{control.Key(api.NetworkRef)}
	}
	switch record := value.(type) {
	case *api.Object:
		if record.Kind != api.KindNetwork {
			return nil
		}
	case *api.NetworkNodeStatus, *api.Subnets:
	case *api.NodeStatus:
		if change.New != nil && change.Old != nil {
			return nil
		}
	default:
		return nil
	}
	return []engine.Key{control.Key(api.NetworkRef)}
}

// Keys returns the network, whether it is declared or not: nodes have their subnets before.
func (c *Controller) Keys() []engine.Key { return []engine.Key{control.Key(api.NetworkRef)} }

// Dirty returns the network if a reconcile would write something.
func (c *Controller) Dirty(now time.Time) []engine.Key {
	if s := c.Snapshot(); c.subnets(s).Empty() {
		return c.Reporter.Dirty(now)
	}
	return c.Keys()
}

// Reconcile gives subnets to the nodes, or writes the status once all have theirs.
func (c *Controller) Reconcile(ctx context.Context, key engine.Key) (engine.Result, error) {
	txn := c.subnets(c.Snapshot())
	if txn.Empty() {
		return c.Reporter.Reconcile(ctx, key)
	}
	revision, err := c.Commit(ctx, txn, records.SubnetsKey)
	return engine.Result{Revision: revision}, err
}

// subnets returns the commit that gives each node its subnet. It has one before a network is declared: the network of its containers is made
// with it, and no other node's has the same.
func (c *Controller) subnets(s records.Snapshot) *records.Txn {
	txn, had := records.NewTxn("network.subnets"), s.Subnets()
	given, _ := assign(s)
	if had.Exists() && maps.Equal(had.Value.Nodes, given) || !had.Exists() && len(given) == 0 {
		return txn
	}
	txn.Put(records.SubnetsKey, api.Subnets{Nodes: given})
	return txn.If(records.SubnetsKey, had.Modified).If(records.ObjectKey(api.NetworkRef), s.Object(api.NetworkRef).Modified)
}

// assign decides on the subnets of all nodes that others reach, or once did. Until a network is declared they are in its default range.
func assign(s records.Snapshot) (map[string]netip.Prefix, map[string]string) {
	var spec api.NetworkSpec
	if object := s.Object(api.NetworkRef); object.Exists() {
		var err error
		if spec, err = api.DecodeSpec[api.NetworkSpec](*object.Value); err != nil {
			return nil, nil
		}
	}
	spec = spec.WithDefaults()
	within, err := netip.ParsePrefix(spec.Range)
	if err != nil {
		return nil, nil
	}
	nodes, claims := map[string]subnet.Node{}, map[string]string{}
	reports := s.NetworkNodes()
	for _, reported := range reports {
		node, had := reported.Value, subnetOf(s, reported.Value.Node)
		if !s.Node(node.Node).Exists() || !node.Address.IsValid() && !had.IsValid() {
			continue
		}
		if node.Subnet.IsValid() && node.Subnet != had {
			if claims[node.Node] = boundary.Subnet(node.Subnet, within, others(reports, node.Node)); claims[node.Node] != "" {
				continue
			}
		}
		nodes[node.Node] = subnet.Node{Has: had, Uses: node.Subnet, Taken: node.Taken}
	}
	given, refused := subnet.Assign(within, spec.SubnetBits, nodes)
	for name, why := range claims {
		if why != "" {
			refused[name] = why
		}
	}
	return given, refused
}

// others returns the addresses of the other nodes.
func others(reports []records.Read[api.NetworkNodeStatus], name string) (out []netip.Addr) {
	for _, other := range reports {
		if other.Value.Node != name && other.Value.Address.IsValid() {
			out = append(out, other.Value.Address)
		}
	}
	return out
}

// subnetOf returns the subnet of a node; invalid if it has none.
func subnetOf(s records.Snapshot, node string) netip.Prefix {
	if known := s.Subnets(); known.Exists() {
		return known.Value.Nodes[node]
	}
	return netip.Prefix{}
}
