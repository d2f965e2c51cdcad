package nextstep

// The words of steps, and parts of them.
const (
	// Continues ends a step after which nothing is left to do.
	Continues = "; Tend then continues"
	// StartEngine is for a node, which the message names, whose container engine doesn't answer.
	StartEngine = "start the container engine on the node (systemctl start docker)"
	// CorrectCause is for a failure that the lines shown explain.
	CorrectCause = "correct the cause and apply again"
	// MoreOutput stands before the command that shows more of a container's output than its last lines.
	MoreOutput = "; more output: "
)

// GetReady returns the step for what waits until objects are ready.
func GetReady(objects string) string { return "get " + objects + " ready" + Continues }
