// Package netpolicy keeps the containers of different scopes apart on a machine, but for the connections that the
// network's manifest allows.
//
// Rules decides: it is a function from the policy, and from where containers are, to the text of one nftables table.
// Keeper has the kernel take that table as a whole, and again if another program changed it.
//
// A connection is judged by who opened it, with every packet: its answers pass with it, and it ends when it is no
// longer allowed. The machine's own connections (the proxy, probes), name queries and published ports are none of its
// concern, and neither are containers without an address of their own.
package netpolicy
