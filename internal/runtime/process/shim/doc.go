// Package shim is the parent of one process container. It is this very binary, run again in a session of its own, so
// that a container outlives the server that started it: the shim starts the program, keeps its output and its exit code
// in files, and restarts it as its policy says, whether Tend runs or not.
//
//	<folder>/record.json   what to run; written once, by the runtime
//	<folder>/status.json   what is going on; written by the shim alone
//	<folder>/output.json   the program's output
//	<folder>/shim.sock     where the runtime asks for stops and listens to events
//
// Everything a program leaves behind becomes the shim's child (it is a subreaper) and dies with the program; the program
// dies with the shim. A status is believed only while the shim it names lives, told from others by its process id, its
// start time and the machine's boot id.
//
// It never decides that a container should run: it starts when told to, and ends when the policy says so or it is
// stopped.
package shim
