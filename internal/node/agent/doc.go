// Package agent turns the tasks of one node into containers, and keeps them running.
//
// One engine controller reconciles tasks by id. A reconcile observes (the desired half and the observed half from
// Control, the container from a cache that one event stream keeps current), asks internal/core/healing for the next
// action, carries it out through the runtime, and repeats until there is none; then it reports. What blocks (stopping,
// pulling, reading last lines) runs outside of the workers and requeues its task when it ends. A second controller
// answers image requests. internal/node/agent/prober runs the probes of running containers; a phase that changes
// requeues its task.
//
// It makes no decisions: healing decides what a container needs, and the control plane what should run. It never
// touches a container whose task the store doesn't know: it quarantines and shows it, because an empty or restored
// store must never kill what runs. Stopping an agent stops no container.
//
//	a := agent.New(agent.Options{Node: "n1", Control: control, Runtime: rt})
//	err := a.Run(ctx)
package agent
