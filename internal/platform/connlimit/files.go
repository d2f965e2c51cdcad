package connlimit

// Within returns how many connections a listener may have if the process may open the given number of files: one in
// part of them, at most most and at least 16.
func Within(files, part uint64, most int) int {
	return int(max(min(files/part, uint64(most)), 16))
}
