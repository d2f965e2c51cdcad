// Package execstream carries a running command over a connection of messages (client/execwire): Serve is the end where
// the command runs, Remote the end that reads and writes as if it ran here. Framed makes such a connection of two
// streams of bytes, where there is no WebSocket.
package execstream
