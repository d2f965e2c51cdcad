// Package netpolicy keeps the containers of different scopes apart on a machine, but for the connections that the
// network's manifest allows.
//
// Rules decides: it is a function from the policy, and from where containers are, to the text of one nftables table.
// Keeper has the kernel take that table as a whole, and again if another program changed it.
//
// Each packet of a connection is judged by the side that opened it: answers pass with the connection, and it ends when
// it is no longer allowed. The policy ignores the machine's own connections (the proxy, probes), name queries,
// published ports, and containers without their own address.
package netpolicy
