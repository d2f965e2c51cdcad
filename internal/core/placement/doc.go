// Package placement decides which node runs a task.
//
// Plan is a function of values: the tasks, placed and not, and the nodes. It assigns every task that fits somewhere,
// and explains the refusal of every other in words a person can act on. It never moves a placed task, never writes, and
// knows no clock: the same values give the same answer, in whatever order they are listed.
//
// A node that passes every filter is scored: fewest live tasks of the same workload first, then the least loaded, then
// the first by name.
package placement
