package cli

import "tend.dev/tend/api"

// networkListing lists the nodes of a network; none of other objects.
func networkListing(object api.Object) listing {
	out := listing{
		header: []string{"NODE", "SUBNET", "ADDRESS", "CONNECTED", "MESSAGE"},
		narrow: narrowing{drop: []string{"ADDRESS", "SUBNET"}, cut: []string{"MESSAGE"}},
	}
	if object.Kind != api.KindNetwork {
		return out
	}
	status, _ := api.DecodeStatus[api.NetworkStatus](object)
	for _, node := range status.Nodes {
		subnet, address, connected := "", "", "no"
		if node.Subnet.IsValid() {
			subnet = node.Subnet.String()
		}
		if node.Address.IsValid() {
			address = node.Address.String()
		}
		if node.Connected {
			connected = "yes"
		}
		out.rows = append(out.rows, []string{node.Node, dash(subnet), dash(address), connected, dash(node.Message)})
	}
	return out
}
