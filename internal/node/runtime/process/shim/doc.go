// Package shim is the parent process of one container. It is Tend's own binary, run again in its own session, so that a
// container outlives the server that started it. The shim starts the program, keeps its output and exit code in files,
// and restarts it by its policy, whether Tend runs or not.
//
//	<folder>/record.json   what to run; written once, by the runtime
//	<folder>/status.json   the current state; written only by the shim
//	<folder>/output.json   the program's output
//	<folder>/shim.sock     where the runtime asks for stops and listens to events
//
// Every process that a program leaves behind becomes the shim's child (the shim is a subreaper) and dies with the
// program; the program dies with the shim. A status is valid only while the shim that it names lives. A shim is
// identified by its process id, its start time and the machine's boot id.
//
// The shim never decides that a container should run. It starts on request, and ends when the policy says so or the
// container is stopped.
package shim
