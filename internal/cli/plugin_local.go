package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tend.dev/tend/api"
)

// runLocally runs a command that a plugin requested at this terminal. Its exit code becomes that of tend.
func (a *app) runLocally(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return nil
	}
	local := exec.CommandContext(ctx, command[0], command[1:]...)
	local.Stdin, local.Stdout, local.Stderr = a.in, a.out, verbatim(a.err)
	local.Cancel = func() error { return local.Process.Signal(os.Interrupt) }
	err := local.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return &exitStatus{code: exit.ExitCode()}
	case err != nil:
		return fmt.Errorf("run %s, as the plugin asks: %w", command[0], err)
	}
	return nil
}

// fetch copies a file from the server's machine that a plugin created. It never overwrites a file, and it leaves this
// folder only if the command line named the place.
func (a *app) fetch(file api.FetchFile, args []string) error {
	to := file.DestPath
	if to == "" {
		to = filepath.Base(file.RemotePath)
	}
	if !filepath.IsLocal(to) && !named(to, args) {
		return fmt.Errorf("the plugin wants to write %s, which is outside of this folder\n  name that place in the command if you want it", to)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, filepath.Base(file.RemotePath))
	}
	from, err := os.Open(file.RemotePath)
	if err != nil {
		return fmt.Errorf("fetch %s: %w\n  it lies on the server's machine: run the command there, as a user who may read it",
			file.RemotePath, err)
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and is not written over\n  name another place, or move it away", to)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", file.RemotePath, err)
	}
	n, err := io.Copy(out, from)
	if err = errors.Join(err, out.Close()); err == nil && file.SizeBytes > 0 && n != file.SizeBytes {
		err = fmt.Errorf("it has %d bytes, and the plugin said %d", n, file.SizeBytes)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", file.RemotePath, errors.Join(err, os.Remove(to)))
	}
	fmt.Fprintf(a.err, "fetched %s (%d bytes)\n", to, n)
	return nil
}

// named reports whether an argument named a place, or a folder it lies in.
func named(place string, args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		if _, value, found := strings.Cut(arg, "="); found && strings.HasPrefix(arg, "-") {
			arg = value
		}
		return arg != "" && !strings.HasPrefix(arg, "-") &&
			(filepath.Clean(arg) == filepath.Clean(place) || filepath.Clean(arg) == filepath.Dir(filepath.Clean(place)))
	})
}
