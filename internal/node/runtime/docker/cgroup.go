package docker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// cgroups reads the control groups of a machine on which the engine runs. That takes a fraction of a millisecond; the
// engine's own call waits for its next round, which is every second.
type cgroups struct{ sys, proc string }

var localCgroups = cgroups{sys: "/sys/fs/cgroup", proc: "/proc"}

// unlimited is the smallest value that counts as no memory limit.
const unlimited = 1 << 60

var errElsewhere = errors.New("its control group is not where engines put it")

// read samples a container by its full id; it returns errElsewhere if the engine must be asked.
func (c cgroups) read(id string) (runtime.Stats, error) {
	if unified := filepath.Join(c.sys, "system.slice", "docker-"+id+".scope"); exists(unified, "cpu.stat") {
		return c.readUnified(unified)
	}
	if unified := filepath.Join(c.sys, "docker", id); exists(unified, "cpu.stat") && exists(unified, "memory.current") {
		return c.readUnified(unified)
	}
	for _, below := range []string{filepath.Join("docker", id), filepath.Join("system.slice", "docker-"+id+".scope")} {
		if exists(filepath.Join(c.sys, "cpuacct", below), "cpuacct.usage") {
			return c.readSplit(below)
		}
	}
	return runtime.Stats{}, errElsewhere
}

// readUnified reads version 2: one folder for everything.
func (c cgroups) readUnified(dir string) (runtime.Stats, error) {
	r := reader{}
	cache := r.fields(dir, "memory.stat")["inactive_file"]
	stats := runtime.Stats{
		CPUTime: time.Duration(r.fields(dir, "cpu.stat")["usage_usec"]) * time.Microsecond, At: time.Now(),
		MemoryBytes: r.number(dir, "memory.current"), PIDs: int(r.number(dir, "pids.current")),
	}
	stats.MemoryBytes -= min(cache, stats.MemoryBytes)
	stats.MemoryLimit = c.limit(r.optional(dir, "memory.max"))
	for _, field := range strings.Fields(r.text(dir, "io.stat")) {
		name, amount, _ := strings.Cut(field, "=")
		n, _ := strconv.ParseInt(amount, 10, 64)
		switch name {
		case "rbytes":
			stats.BlockRead += n
		case "wbytes":
			stats.BlockWrite += n
		}
	}
	stats.NetRx, stats.NetTx = c.network(r.text(dir, "cgroup.procs"))
	return stats, r.err
}

// readSplit reads version 1: a folder for each controller.
func (c cgroups) readSplit(below string) (runtime.Stats, error) {
	r := reader{}
	of := func(controller string) string { return filepath.Join(c.sys, controller, below) }
	stats := runtime.Stats{
		CPUTime: time.Duration(r.number(of("cpuacct"), "cpuacct.usage")), At: time.Now(),
		MemoryBytes: r.number(of("memory"), "memory.usage_in_bytes"), PIDs: int(r.number(of("pids"), "pids.current")),
	}
	cache := r.fields(of("memory"), "memory.stat")["total_inactive_file"]
	stats.MemoryBytes -= min(cache, stats.MemoryBytes)
	stats.MemoryLimit = c.limit(r.optional(of("memory"), "memory.limit_in_bytes"))
	words := strings.Fields(r.text(of("blkio"), "blkio.throttle.io_service_bytes_recursive"))
	for i := 0; i+1 < len(words); i++ {
		n, _ := strconv.ParseInt(words[i+1], 10, 64)
		switch words[i] {
		case "Read":
			stats.BlockRead += n
		case "Write":
			stats.BlockWrite += n
		}
	}
	stats.NetRx, stats.NetTx = c.network(r.text(of("pids"), "cgroup.procs"))
	return stats, r.err
}

// limit returns the container's own limit, or else the machine's memory as the kernel reports it.
func (c cgroups) limit(own int64) int64 {
	if own > 0 && own < unlimited {
		return own
	}
	r := reader{}
	return r.fields(c.proc, "meminfo")["MemTotal:"] << 10
}

// network sums the interfaces of the first process that still has any.
func (c cgroups) network(pids string) (received, sent int64) {
	for pid := range strings.FieldsSeq(pids) {
		raw, err := os.ReadFile(filepath.Join(c.proc, pid, "net", "dev"))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(raw) {
			name, rest, found := strings.Cut(string(line), ":")
			columns := strings.Fields(rest)
			if !found || len(columns) < 9 || strings.TrimSpace(name) == "lo" {
				continue
			}
			rx, _ := strconv.ParseInt(columns[0], 10, 64)
			tx, _ := strconv.ParseInt(columns[8], 10, 64)
			received, sent = received+rx, sent+tx
		}
		return received, sent
	}
	return 0, 0
}

// reader keeps the first error, so that a sample is complete or fails.
type reader struct{ err error }

func (r *reader) text(dir, name string) string {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if r.err == nil {
		r.err = err
	}
	return string(raw)
}

func (r *reader) number(dir, name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(r.text(dir, name)), 10, 64)
	if r.err == nil {
		r.err = err
	}
	return n
}

// optional returns the number in a file, or 0 without one: "max" means no limit.
func (r *reader) optional(dir, name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(r.text(dir, name)), 10, 64)
	return n
}

// fields parses lines of a name and a number.
func (r *reader) fields(dir, name string) map[string]int64 {
	out := map[string]int64{}
	for line := range strings.Lines(r.text(dir, name)) {
		if words := strings.Fields(line); len(words) >= 2 {
			out[words[0]], _ = strconv.ParseInt(words[1], 10, 64)
		}
	}
	return out
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
