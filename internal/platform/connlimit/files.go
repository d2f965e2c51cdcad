package connlimit

// Within returns the maximal number of connections of a listener if the process may open the given number of files: a
// share of 1/part, at most most and at least 16.
func Within(files, part uint64, most int) int {
	return int(max(min(files/part, uint64(most)), 16))
}
