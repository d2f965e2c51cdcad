package nextstep

// The words of steps, and parts of them.
const (
	// Continues ends a step after which nothing is left to do.
	Continues = "; Tend then continues"
	// StartEngine is for a node, which the message names, whose container engine doesn't answer.
	StartEngine = "start the container engine on the node (systemctl start docker)"
	// RaiseMemory is for a program that was killed at its memory limit.
	RaiseMemory = "raise `resources.limits.memory`"
	// CorrectCause is for a failure that the lines shown explain.
	CorrectCause = "correct the cause and apply again"
	// MoreOutput stands before the command that shows more of a container's output than its last lines.
	MoreOutput = "; more output: "
)

// FreeMemory returns the step for a program without a limit that was killed for lack of memory on a node.
func FreeMemory(node string) string {
	return "free memory on " + node + ", or reserve what the program needs: `resources.reservations.memory`"
}

// GetReady returns the step for what waits until objects are ready.
func GetReady(objects string) string { return "get " + objects + " ready" + Continues }
