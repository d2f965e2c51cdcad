//go:build linux

package shim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Identity identifies a process for all time. The id alone doesn't: the kernel reuses it.
type Identity struct {
	PID int `json:"pid"`
	// Start is the start time of the process in clock ticks since boot.
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// Self returns the identity of this process.
func Self() (Identity, error) {
	process, err := readProcess(os.Getpid())
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: process.PID, Start: process.Start, Boot: bootID()}, nil
}

// Alive reports whether this very process still runs.
func (i Identity) Alive() bool {
	if i.PID <= 0 || i.Boot != bootID() {
		return false
	}
	process, err := readProcess(i.PID)
	return err == nil && process.Start == i.Start && !process.Dead()
}

var bootID = sync.OnceValue(func() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
})

// Process is an entry of the kernel's process table.
type Process struct {
	PID, Parent, Session int
	State                byte
	// Ticks is the processor time used, including that of ended children; Start is the start time. Both are in clock
	// ticks.
	Ticks, Start uint64
}

// Dead reports whether the process has ended and only its table entry is left.
func (p Process) Dead() bool { return p.State == 'Z' || p.State == 'X' }

// readProcess parses /proc/<pid>/stat. The name in the second field may contain any character, so the fields are
// counted from the end of the name.
func readProcess(pid int) (Process, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return Process{}, fmt.Errorf("process %d: unreadable stat", pid)
	}
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("process %d: short stat", pid)
	}
	number := func(field int) uint64 {
		n, _ := strconv.ParseUint(fields[field-3], 10, 64)
		return n
	}
	return Process{
		PID: pid, State: fields[0][0], Parent: int(number(4)), Session: int(number(6)),
		Ticks: number(14) + number(15) + number(16) + number(17), Start: number(22),
	}, nil
}

// Processes returns the whole process table.
func Processes() []Process {
	entries, _ := os.ReadDir("/proc")
	var out []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if process, err := readProcess(pid); err == nil {
			out = append(out, process)
		}
	}
	return out
}

// Descendants returns the children of a process, their children, and so on.
func Descendants(root int) []Process {
	children := map[int][]Process{}
	for _, process := range Processes() {
		children[process.Parent] = append(children[process.Parent], process)
	}
	var out []Process
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		out = append(out, queue[0])
		queue = append(queue, children[queue[0].PID]...)
	}
	return out
}
