// Package simulation runs the operator in simulated clusters, and judges it from the outside.
//
// A world is a cluster in memory (package cluster), the operator's manager with all its controllers, caches and
// watches, Tend's control plane behind TLS, a Flux that reports nothing but what the real one was recorded to report,
// controllers of Jobs, Workflows, Backups, replications and snapshots, and people. One seed decides what happens: which
// verbs people call, what hands do by kubectl, which parts fail and when. Time is the virtual clock of
// testing/synctest.
//
// The oracle sees each stored change of the cluster, and what Helm and the Jobs did. It reads nothing that the operator
// knows:
//
//   - Ready is said of nothing that Helm never deployed, in the cluster and by Tend;
//   - an operation has one object, such as a Job or a Backup, which is made once; its conditions claim only what the
//     status of that object says; what ended stays ended;
//   - while an instance is paused, its children are left alone;
//   - a payload that was changed on its way is not applied;
//   - the object of an operation that needs an approval is not made before a person gave it;
//   - a HelmRelease never lacks what its spec depends on;
//   - a HelmRelease of others isn't deleted, and a field of theirs isn't changed before a person lets the operator take
//     it over;
//   - each transition of a condition has its Event, and one of them, also across kills and lost answers;
//   - once the faults end, the world comes to rest in bounded time, and writes nothing then;
//   - at rest the cluster has what people declared and nothing else, and Tend says of it what the cluster says.
//
// Add a verb or a fault to the repertoire: a name, a weight and a function of *World. docs/contribute/testing.md says
// how to repeat a seed. All files but this one are tests.
package simulation
