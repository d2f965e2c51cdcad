//go:build linux

package process

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/rootfs"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// defaultPath is the PATH for programs unless the environment sets one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// program resolves what a container runs: the image's configuration overridden by the spec, merged as docker does.
func (r *Runtime) program(spec runtime.ContainerSpec, image rootfs.Image, record shim.Record) (shim.Program, error) {
	var out shim.Program
	var err error
	if out.Args, err = argv(spec.Spec, image.Config); err != nil {
		return out, err
	}
	account, err := r.account(spec.Spec.User, image.Config.User)
	if err != nil {
		return out, err
	}
	out.User = account.user
	env := environment(spec, image.Config, record, account.home)
	out.Env = pairs(env)
	out.Dir = folderOf(image.Root, first(spec.Spec.WorkingDir, image.Config.WorkingDir))
	out.Path = lookUp(image.Root, out.Dir, out.Args[0], env["PATH"])
	if out.StopSignal, err = signalNumber(first(spec.Spec.StopSignal, image.Config.StopSignal)); err != nil {
		return out, invalid("stop_signal", err)
	}
	if out.Limits, err = limits(spec.Spec.Ulimits); err != nil {
		return out, invalid("ulimits", err)
	}
	out.CPU, out.Memory, err = resources(spec.Spec.Resources)
	return out, err
}

// argv returns entrypoint and command; an entrypoint in the spec drops the image's command.
func argv(spec api.DeploymentSpec, config rootfs.Config) ([]string, error) {
	entrypoint, command := config.Entrypoint, config.Cmd
	if len(spec.Entrypoint) > 0 {
		entrypoint, command = spec.Entrypoint, nil
	}
	if len(spec.Command) > 0 {
		command = spec.Command
	}
	args := slices.Concat(entrypoint, command)
	if len(args) == 0 || args[0] == "" {
		return nil, &runtime.RejectedError{
			Reason: "CommandNotFound", Detail: "the image names no command", Next: "set command",
		}
	}
	return args, nil
}

// environment returns the variables of the image, overridden by those of the release, overridden by the container's
// ports.
func environment(spec runtime.ContainerSpec, config rootfs.Config, record shim.Record, home string) map[string]string {
	env := map[string]string{"PATH": defaultPath, "HOME": home, "HOSTNAME": spec.Name}
	for _, pair := range config.Env {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	maps.Copy(env, spec.Env)
	env[shim.Mark] = record.ID
	for i, port := range record.Ports {
		number := strconv.Itoa(port.HostPort)
		env["PORT_"+strconv.Itoa(port.Container)] = number
		if i == 0 {
			env["PORT"], env["HOST"] = number, port.HostIP
		}
	}
	return env
}

func pairs(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

// folderOf returns a working directory: the image's folder of that name if it has one, otherwise the host's.
func folderOf(root, dir string) string {
	inside := filepath.Join(root, dir)
	if !filepath.IsAbs(dir) || isFolder(inside) {
		return inside
	}
	return dir
}

// lookUp finds a program in the image or on the host. For a missing program it returns the path that it would have, so
// that the start reports the error.
func lookUp(root, dir, name, path string) string {
	var places []string
	switch {
	case filepath.IsAbs(name):
		places = []string{filepath.Join(root, name), name}
	case strings.Contains(name, "/"):
		places = []string{filepath.Join(dir, name), filepath.Join(root, name)}
	default:
		folders := filepath.SplitList(path)
		for _, folder := range folders {
			places = append(places, filepath.Join(root, folder, name))
		}
		places = append(places, filepath.Join(root, name))
		for _, folder := range folders {
			places = append(places, filepath.Join(folder, name))
		}
	}
	for _, place := range places {
		if info, err := os.Stat(place); err == nil && !info.IsDir() {
			return place
		}
	}
	return places[0]
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// signalNumber parses a signal such as SIGTERM, TERM or 15. An empty text is 0.
func signalNumber(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 65 {
		return n, nil
	}
	name := strings.ToUpper(text)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if number := unix.SignalNum(name); number != 0 {
		return int(number), nil
	}
	return 0, fmt.Errorf("%q is not a signal", text)
}

func limits(declared map[string]string) (map[string][2]uint64, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	out := map[string][2]uint64{}
	for name, text := range declared {
		if !shim.KnownLimit(name) {
			return nil, fmt.Errorf("%q is not a limit", name)
		}
		soft, hard, found := strings.Cut(text, ":")
		if !found {
			hard = soft
		}
		low, err := limitValue(soft)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		high, err := limitValue(hard)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if low > high {
			return nil, fmt.Errorf("%s: soft limit %s is above the hard one %s", name, soft, hard)
		}
		out[name] = [2]uint64{low, high}
	}
	return out, nil
}

// limitValue parses a number; -1 and unlimited mean no limit.
func limitValue(text string) (uint64, error) {
	if text == "-1" || text == "unlimited" {
		return unix.RLIM_INFINITY, nil
	}
	return strconv.ParseUint(text, 10, 63)
}

func resources(declared *api.Resources) (cpu float64, memory int64, err error) {
	if declared == nil || declared.Limits == nil {
		return 0, 0, nil
	}
	if text := declared.Limits.CPU; text != "" {
		if cpu, err = api.ParseCPU(text); err != nil {
			return 0, 0, invalid("resources.limits.cpu", err)
		}
	}
	if text := declared.Limits.Memory; text != "" {
		if memory, err = api.ParseMemory(text); err != nil {
			return 0, 0, invalid("resources.limits.memory", err)
		}
	}
	return cpu, memory, nil
}
