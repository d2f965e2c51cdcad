// Package agent turns the tasks of one node into containers, and keeps them so.
//
// One engine controller looks at tasks by id. A look observes (the desired half and the observed half from Control, the
// container from a cache that one event stream keeps honest), asks internal/core/healing what is next, does that one
// thing through the runtime, and looks again until nothing is asked for; then it reports. What blocks (stopping, pulling,
// reading last lines) runs beside the workers and wakes its task when it ends. A second controller answers image requests.
// Beside them internal/agent/prober asks the probes of what runs; a phase that changes wakes its task.
//
// It decides nothing: what a container needs is healing's word, what should run is the control plane's. It never
// touches a container whose task the store doesn't know: such a one is quarantined and shown, for an empty or restored
// store must never kill what runs. Stopping an agent stops no container.
//
//	a := agent.New(agent.Options{Node: "n1", Control: control, Runtime: rt})
//	err := a.Run(ctx)
package agent
