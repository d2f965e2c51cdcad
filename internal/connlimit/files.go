package connlimit

// Within returns how many connections a listener may have where the process may open so many files: one in part of them, at
// most most and at least 16.
func Within(files, part uint64, most int) int {
	return int(max(min(files/part, uint64(most)), 16))
}
