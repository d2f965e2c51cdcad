package eventlog

import "strconv"

// floorName is the key, below a log's prefix, of the newest revision of which events were deleted. It is written with
// each deletion, so that no reader takes a deleted event for one that never was.
const floorName = "floor"

func parseFloor(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
