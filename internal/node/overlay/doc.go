// Package overlay connects the containers of this node with those of the others: a device through which packets travel
// to each peer, over WireGuard or VXLAN, a route for each peer's subnet, and two rules so that the container engine's
// own rules let the packets through unchanged.
//
// What should be comes from the control plane (node.Network), what is from the kernel; Plan compares them and returns
// actions. Each pass looks for itself, so that what another program removed is put back.
//
// Packets travel between the addresses of containers: neither their source nor their destination is translated. The
// node itself has the first address of its subnet, so that its proxy reaches the pods of other nodes.
package overlay
