// Package simulation runs the operator in simulated clusters, and judges it from the outside.
//
// A world is a cluster in memory (package cluster), the operator's manager with all its controllers, caches and
// watches, Tend's control plane behind TLS, a Flux that reports nothing but what the real one was recorded to report, a
// controller of Jobs, and people. One seed decides what happens: which verbs people call, what hands do by kubectl,
// which parts fail and when. Time is the virtual clock of testing/synctest.
//
// The oracle sees each stored change of the cluster, and what Helm and the Jobs did. It reads nothing that the operator
// knows:
//
//   - Ready is said of nothing that Helm never deployed, in the cluster and by Tend;
//   - an operation has one Job, which is made once; its conditions claim only what happened; what ended stays ended;
//   - while an instance is paused, its children are left alone;
//   - a payload that was changed on its way is not applied;
//   - each transition of a condition has its Event, and one of them, also across kills and lost answers;
//   - once the faults end, the world comes to rest in bounded time, and writes nothing then;
//   - at rest the cluster has what people declared and nothing else, and Tend says of it what the cluster says.
//
// Add a verb or a fault to the repertoire: a name, a weight and a function of *World. docs/contribute/testing.md says
// how to repeat a seed. All files but this one are tests.
package simulation
