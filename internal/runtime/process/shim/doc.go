// Package shim is the parent of one process container. It is the same binary, run again in a session of its own, so
// that a container outlives the server that started it: the shim starts the program, keeps its output and its exit code
// in files, and restarts it by its policy, whether Tend runs or not.
//
//	<folder>/record.json   what to run; written once, by the runtime
//	<folder>/status.json   the current state; written only by the shim
//	<folder>/output.json   the program's output
//	<folder>/shim.sock     where the runtime asks for stops and listens to events
//
// Every process that a program leaves behind becomes the shim's child (it is a subreaper) and dies with the program;
// the program dies with the shim. A status is valid only while the shim it names lives. A shim is identified by its
// process id, its start time and the machine's boot id.
//
// The shim never decides that a container should run: it starts on request, and ends when the policy says so or it is
// stopped.
package shim
