package docker

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// hardLimits are the highest limits a container may get, by the names of ulimits; a missing name has no limit.
type hardLimits map[string]int64

func (l hardLimits) clamp(name string, wanted int64) int64 {
	if hard, ok := l[name]; ok && hard >= 0 && wanted > hard {
		return hard
	}
	return wanted
}

// hardLimits reads them once, and again with each Info: a restarted engine may have others.
func (r *Runtime) hardLimits() hardLimits {
	if known := r.limits.Load(); known != nil {
		return *known
	}
	return r.readLimits()
}

// readLimits reads the limits of the engine's process, which its containers inherit. A remote engine does not report
// them: this process's own limits are the best guess.
func (r *Runtime) readLimits() hardLimits {
	limits := ownLimits()
	if socket, ok := r.local(); ok {
		if pid, ok := enginePID(socket); ok {
			if read, err := processLimits(pid); err == nil {
				limits = read
			}
		}
	}
	r.limits.Store(&limits)
	return limits
}

// enginePID returns the process id in the engine's pid file beside its socket, else that of the process that listens on
// the socket.
func enginePID(socket string) (int, bool) {
	for _, path := range []string{filepath.Join(filepath.Dir(socket), "docker.pid"), "/run/docker.pid"} {
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 32 {
			continue
		}
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && isEngine(pid) {
			return pid, true
		}
	}
	return 0, false
}

// isEngine reports whether a process is the engine: the pid file of a dead engine may hold the number of another
// process.
func isEngine(pid int) bool {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return err == nil && strings.HasPrefix(string(name), "docker")
}

func processLimits(pid int) (hardLimits, error) {
	file, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "limits"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 16<<10))
	return parseProcLimits(text), err
}

// parseProcLimits parses the hard column of /proc/<pid>/limits: "Max open files   1024   524288   files".
func parseProcLimits(text []byte) hardLimits {
	limits := hardLimits{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		for title, name := range map[string]string{"Max open files": "nofile", "Max processes": "nproc"} {
			rest, ok := strings.CutPrefix(lines.Text(), title)
			fields := strings.Fields(rest)
			if !ok || len(fields) < 2 {
				continue
			}
			if hard, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				limits[name] = hard
			}
		}
	}
	return limits
}

// ownLimits returns the hard limits of this process.
func ownLimits() hardLimits {
	const nproc = 6 // RLIMIT_NPROC, which package syscall doesn't name
	limits := hardLimits{}
	for name, resource := range map[string]int{"nofile": syscall.RLIMIT_NOFILE, "nproc": nproc} {
		var limit syscall.Rlimit
		if syscall.Getrlimit(resource, &limit) == nil && limit.Max < 1<<62 {
			limits[name] = int64(limit.Max)
		}
	}
	return limits
}
