//go:build linux

package shim

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Mark is the environment variable by which a container's processes are known after their shim was killed.
const Mark = "TEND_CONTAINER"

// KillLeftovers kills what a container without a shim left running: children of its program, which the kernel does not
// kill with it. It returns how many there were.
func KillLeftovers(id string) int {
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
