// Package process runs containers as plain child processes, for machines without a container engine: each under a shim
// of its own (package shim) that outlives the server, from an image that is a folder or an OCI layout (package rootfs),
// with its output kept in bounded files (package journal).
//
// It isolates nothing: programs see the host's files, ports and processes. So every container gets its own PORT, and
// runs as an unprivileged user when Tend is root. A manifest that asks for isolation this runtime can't give is refused
// with the names of the fields. The files under <root>/process are the source of truth: after a server is killed at any
// point, the next one finds its containers there.
//
//	func main() {
//		process.MaybeShim() // before anything else: this binary is also the shim
//		...
//		rt, err := process.New(process.Options{Root: root, Cluster: uid, Node: "local"})
package process
