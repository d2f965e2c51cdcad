package eventlog

import "strconv"

// floorName is the key, below a log's prefix, of the newest revision whose events were deleted. Each deletion writes
// it, so that a reader can tell deleted events from those that never were.
const floorName = "floor"

func parseFloor(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
