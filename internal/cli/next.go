package cli

// nextLabel begins the line of a next step. Every command prints such a step in this form, on a line of its own below
// what it follows from; only the second line of a refused request stands without the label.
const nextLabel = "Next: "

// nextLine returns the end of the line before, and a next step on its own line; nothing if there is no step.
func nextLine(indent, step string) string {
	if step == "" {
		return ""
	}
	return "\n" + indent + nextLabel + step
}
