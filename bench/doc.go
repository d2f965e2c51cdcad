// Command bench measures Tend against what it stands on: the raw engine API doing the same work in the same run, the
// engine's own restart policy, Swarm in the same engine, and a bare embedded etcd.
//
// It starts `tend dev` as a process of its own with a private state folder and network, and drives it through the Go
// client. The raw side creates its containers from the options of a container that Tend made (inspected, not guessed),
// on the same network. Sides take turns, each turn waits for a quiet machine, and a figure is the median of the ratios
// of the turns. It judges nothing: the goals stand in docs/contribute/benchmarks.md.
//
// One line a figure goes to standard output, everything else to standard error:
//
//	bench: deploy-20 1.03 x raw
//	bench: idle-memory 41.2 MB
//
// It needs a container engine and leaves nothing behind, also when interrupted.
package main
