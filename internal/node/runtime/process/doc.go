// Package process runs containers as plain child processes, for machines without a container engine. Each process has
// its own shim (package shim), which outlives the server. Its image is a folder or an OCI layout (package rootfs), and
// its output is kept in files of bounded size (package journal).
//
// It isolates nothing: programs see the host's files, ports and processes. So every container gets its own PORT, and
// runs as an unprivileged user when Tend is root. A manifest that asks for isolation is refused, with the names of the
// fields. The files under <root>/process are the source of truth: wherever a server is killed, the next one finds its
// containers there.
//
//	func main() {
//		process.MaybeShim() // before anything else: this binary is also the shim
//		...
//		rt, err := process.New(process.Options{Root: root, Cluster: uid, Node: "local"})
package process
