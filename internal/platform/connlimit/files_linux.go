package connlimit

import "golang.org/x/sys/unix"

// Files returns the number of files that the process may open.
func Files() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Cur
}
