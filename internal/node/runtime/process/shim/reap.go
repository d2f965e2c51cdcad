//go:build linux

package shim

import (
	"syscall"
	"time"
)

// exit describes the end of a child.
type exit struct {
	pid  int
	code int
}

// reap collects the exits of all ended children: the program, and processes that became the shim's children.
func reap() []exit {
	var out []exit
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return out
		}
		switch {
		case status.Exited():
			out = append(out, exit{pid, status.ExitStatus()})
		case status.Signaled():
			out = append(out, exit{pid, 128 + int(status.Signal())})
		}
	}
}

// killAll kills everything below this process until nothing is left. A limit on the tries bounds a program that forks
// faster than it is killed; the next stop tries again.
func killAll(self int) {
	const tries = 200
	for range tries {
		left := 0
		for _, process := range Descendants(self) {
			if !process.Dead() {
				left++
				_ = syscall.Kill(process.PID, syscall.SIGKILL)
			}
		}
		reap()
		if left == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
