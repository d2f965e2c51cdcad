// Package simulation runs a whole Tend (API, verbs, controllers, scheduler, agent, ingress table) in a simulated world
// and judges it from the outside.
//
// A world is made of a store, a container engine, a root folder, a clock and people. One seed decides all that happens:
// which verbs people call, what hands do to containers, which parts fail and when. The server is the real one
// (internal/server/daemon); its surroundings are simulated. Time is the virtual clock of testing/synctest, so an hour
// takes a moment.
//
// The oracle never compares Tend with itself. It reads the engine's own record of containers, the bytes in the store
// and the files on disk, and the answers people got:
//
//   - a container is made from what the store's release for its task says, and that release from the last accepted
//     manifest;
//   - a task never has two live containers, and the lifetimes of two containers of one ordinal never overlap, unless a
//     person said of a machine that runs that it is off;
//   - a command of a run starts at most once per attempt, a release command once per release;
//   - a file that a container mounts exists and holds the declared bytes;
//   - a request is answered by a pod of the app it was for, which is ready, at a host and at a port of any node;
//   - a container of an image that is pinned by its digest is made of that image, whatever nodes say that they have;
//   - no more pods are made of a deployment than are declared, and what was stopped for good stays stopped;
//   - a rollback with config brings back the image, command, environment and files that ran before;
//   - of several servers, only the one that has the controllers writes what they write;
//   - while the store says that the cluster is paused, none of several servers accepts a change;
//   - a lab runs at most once, not before its start, and is gone after every end;
//   - no pod gets a node of which the store says that no server hears it, while others beat;
//   - a machine that may not join gets a refusal, and leaves no record and no used token;
//   - verbs are linearizable per object, and what was answered as done is never undone;
//   - once faults end the world converges in bounded time, and a converged world does nothing.
//
// Add a fault or a verb in a file of its own: give it a name, a weight and a function of *World, and list it in
// repertoire.go. docs/contribute/testing.md says how to reproduce a seed.
package simulation
