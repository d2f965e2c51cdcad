//go:build linux

package shim

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Mark is the environment variable that identifies a container's processes after their shim was killed.
const Mark = "TEND_CONTAINER"

// KillLeftovers kills the processes that a container without a shim left running: children of its program, which the
// kernel doesn't kill with it.
//
// A process that is just executing another program has no environment for a moment, and a forking process may escape
// any list. So KillLeftovers searches until several searches in a row find nothing.
func KillLeftovers(id string) {
	const sweeps, tries = 4, 100
	for quiet, n := 0, 0; quiet < sweeps && n < tries; n++ {
		if killMarked(id) > 0 {
			quiet = 0
		} else {
			quiet++
		}
		time.Sleep(time.Duration(quiet) * 5 * time.Millisecond)
	}
}

func killMarked(id string) int {
	killed := 0
	for _, process := range Processes() {
		if !process.Dead() && marked(process.PID, id) {
			_ = syscall.Kill(process.PID, syscall.SIGKILL)
			killed++
		}
	}
	return killed
}

func marked(pid int, id string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	mark := []byte("\x00" + Mark + "=" + id + "\x00")
	return bytes.Contains(append([]byte{0}, env...), mark)
}
