//go:build linux

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// version is the runtime's version. It increases when records of older versions can't be read any more.
const version = "1"

// Info implements runtime.Runtime.
func (r *Runtime) Info(ctx context.Context) (runtime.Info, error) {
	if err := r.check(ctx); err != nil {
		return runtime.Info{}, err
	}
	return runtime.Info{
		Name: api.RuntimeProcess, Version: version, CPUs: float64(goruntime.NumCPU()), MemoryBytes: totalMemory(),
		Warnings: r.warnings(), DiskPressure: runtime.DiskPressure(r.dir), Quarantined: r.damaged(),
	}, nil
}

func (r *Runtime) warnings() []string {
	out := []string{"the process runtime isolates nothing: programs share the host's files, processes and ports, and reach each other by port"}
	memory, cpu := shim.Limits()
	if !memory {
		out = append(out, "memory limits are not enforced: Tend can't write the memory control group")
	}
	if !cpu {
		out = append(out, "cpu limits are not enforced: Tend can't write the cpu control group")
	}
	if os.Geteuid() != 0 {
		out = append(out, "Tend is not root: every program runs as Tend's own user and can read what Tend can")
	} else if who, err := r.account("", ""); err == nil && who.user == nil {
		out = append(out, "programs run as root unless their manifest names a user")
	} else if closed := closedTo(r.dir); err == nil && closed != "" {
		out = append(out, fmt.Sprintf("unprivileged programs can't enter %s: allow it with chmod o+x", closed))
	}
	return out
}

// closedTo returns the first folder on a path that other users can't enter.
func closedTo(path string) string {
	for at := path; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.Mode()&0o001 == 0 {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func totalMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
