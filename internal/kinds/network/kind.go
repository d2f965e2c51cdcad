package network

import (
	"maps"
	"net/netip"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/control"
	"tend.dev/tend/internal/core/boundary"
	"tend.dev/tend/internal/core/subnet"
	"tend.dev/tend/internal/store/records"
	"tend.dev/tend/internal/store/view"
)

// Kind returns the kind of the network. It is reconciled whether it is declared or not: nodes have their subnets
// before.
func Kind() control.Kind {
	network := []api.Ref{api.NetworkRef}
	return control.Kind{
		KindInfo: api.KindNetwork.Info(),
		Step:     step,
		Always:   network,
		Reads: []control.Input{
			control.Heartbeats(func(records.Snapshot) []api.Ref { return network }),
			control.Records(func(records.Snapshot, string, *api.NetworkNodeStatus) []api.Ref { return network }),
			control.Records(func(records.Snapshot, string, *api.Subnets) []api.Ref { return network }),
			func(_ records.Snapshot, change view.Change) []api.Ref {
				if _, node := control.Changed(change).(*api.NodeStatus); !node || change.New != nil &&
					change.Old != nil {
					return nil
				}
				return network
			},
		},
	}
}

// step gives subnets to the nodes, or makes the status once all have theirs.
func step(at control.Observation) (control.Step, error) {
	if txn := subnets(at.Snapshot); !txn.Empty() {
		return control.Step{Txn: txn, Guard: records.SubnetsKey}, nil
	}
	if !at.Object.Exists() {
		return control.Forget(at), nil
	}
	return control.Step{Status: status(at, control.Before[api.NetworkStatus](at))}, nil
}

// subnets returns the commit that gives each node its subnet. It has one before a network is declared: the network of
// its containers is made with it, and no other node's has the same.
func subnets(s records.Snapshot) *records.Txn {
	txn, had := records.NewTxn("network.subnets"), s.Subnets()
	given, _ := assign(s)
	if had.Exists() && maps.Equal(had.Value.Nodes, given) || !had.Exists() && len(given) == 0 {
		return txn
	}
	return txn.If(records.SubnetsKey, had.Modified).Put(records.SubnetsKey, api.Subnets{Nodes: given})
}

// assign decides on the subnets of all nodes that others reach, or once did. Until a network is declared they are in
// its default range.
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
			if claims[node.Node] = boundary.Subnet(node.Subnet, within,
				others(reports, node.Node)); claims[node.Node] != "" {
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
