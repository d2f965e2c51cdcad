//go:build linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Group is a container's control group: one folder per controller in version 1, a single folder in version 2. The zero
// value means no group.
type Group struct {
	memory, cpu string // folders; the same one in version 2
	unified     bool
}

const (
	cgroupRoot   = "/sys/fs/cgroup"
	groupsFolder = "tend-process"
	cpuPeriod    = 100_000 // microseconds
)

// Limits reports which limits Tend can set on this machine. It creates the parent folder of the containers' groups.
func Limits() (memory, cpu bool) {
	if unifiedCgroups() {
		ok := enableUnified() == nil
		return ok, ok
	}
	writable := func(controller string) bool {
		return os.MkdirAll(filepath.Join(cgroupRoot, controller, groupsFolder), 0o755) == nil
	}
	return writable("memory"), writable("cpu")
}

func unifiedCgroups() bool {
	_, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers"))
	return err == nil
}

func enableUnified() error {
	folder := filepath.Join(cgroupRoot, groupsFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, at := range []string{cgroupRoot, folder} {
		if err := write(at, "cgroup.subtree_control", "+memory +cpu"); err != nil {
			return err
		}
	}
	return nil
}

func groupOf(id string) Group {
	if unifiedCgroups() {
		folder := filepath.Join(cgroupRoot, groupsFolder, id)
		return Group{memory: folder, cpu: folder, unified: true}
	}
	folder := func(controller string) string { return filepath.Join(cgroupRoot, controller, groupsFolder, id) }
	return Group{memory: folder("memory"), cpu: folder("cpu")}
}

// makeGroup creates a group with a program's limits, as far as the machine permits. Without limits there is no group.
func makeGroup(id string, program Program) (Group, error) {
	group := groupOf(id)
	canMemory, canCPU := Limits()
	if program.Memory == 0 || !canMemory {
		group.memory = ""
	}
	if program.CPU == 0 || !canCPU {
		group.cpu = ""
	}
	for _, folder := range group.folders() {
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return Group{}, fmt.Errorf("make control group: %w", err)
		}
	}
	return group, errors.Join(group.limitMemory(program.Memory), group.limitCPU(program.CPU))
}

func (g Group) limitMemory(bytes int64) error {
	if g.memory == "" {
		return nil
	}
	value := strconv.FormatInt(bytes, 10)
	if g.unified {
		return write(g.memory, "memory.max", value)
	}
	return write(g.memory, "memory.limit_in_bytes", value)
}

func (g Group) limitCPU(cores float64) error {
	if g.cpu == "" {
		return nil
	}
	quota := strconv.Itoa(max(int(cores*cpuPeriod), 1000))
	if g.unified {
		return write(g.cpu, "cpu.max", quota+" "+strconv.Itoa(cpuPeriod))
	}
	return errors.Join(write(g.cpu, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)), write(g.cpu, "cpu.cfs_quota_us", quota))
}

func (g Group) folders() []string {
	var out []string
	for _, folder := range []string{g.memory, g.cpu} {
		if folder != "" && (len(out) == 0 || out[0] != folder) {
			out = append(out, folder)
		}
	}
	return out
}

// enter moves this thread into the group, so that a child that it forks starts there; leave moves the thread out again.
// Version 2 has no groups of threads: there the child is forked directly into the group.
func (g Group) enter() error {
	if g.unified {
		return nil
	}
	var errs []error
	for _, folder := range g.folders() {
		errs = append(errs, write(folder, "tasks", strconv.Itoa(syscall.Gettid())))
	}
	return errors.Join(errs...)
}

func (g Group) leave(home map[string]string) {
	if g.unified {
		return
	}
	for _, folder := range g.folders() {
		controller, _, _ := strings.Cut(strings.TrimPrefix(folder, cgroupRoot+"/"), "/")
		_ = write(filepath.Join(cgroupRoot, controller, home[controller]), "tasks", strconv.Itoa(syscall.Gettid()))
	}
}

// homeGroups returns the groups that this process started in, by version 1 controller.
func homeGroups() map[string]string {
	raw, _ := os.ReadFile("/proc/self/cgroup")
	out := map[string]string{}
	for _, line := range strings.Split(string(raw), "\n") {
		if parts := strings.SplitN(line, ":", 3); len(parts) == 3 {
			for _, controller := range strings.Split(parts[1], ",") {
				out[controller] = parts[2]
			}
		}
	}
	return out
}

// oomKills returns the number of the group's processes that the kernel killed for lack of memory.
func (g Group) oomKills() int {
	if g.memory == "" {
		return 0
	}
	file := "memory.oom_control"
	if g.unified {
		file = "memory.events"
	}
	return numberIn(filepath.Join(g.memory, file), "oom_kill")
}

func numberIn(path, key string) int {
	raw, _ := os.ReadFile(path)
	for _, line := range strings.Split(string(raw), "\n") {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == key {
			n, _ := strconv.Atoi(fields[1])
			return n
		}
	}
	return 0
}

// RemoveGroup removes a container's control groups. They must be empty.
func RemoveGroup(id string) {
	for _, folder := range groupOf(id).folders() {
		_ = os.Remove(folder)
	}
}

func write(folder, file, value string) error {
	return os.WriteFile(filepath.Join(folder, file), []byte(value), 0o600)
}
