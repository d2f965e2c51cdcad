//go:build linux

package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	goruntime "runtime"
	"syscall"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/recovery"
	"tend.dev/tend/internal/runtime"
	"tend.dev/tend/internal/runtime/process/rootfs"
)

const (
	languageGo = "go"
	// maxBuildLine bounds one line of a build's output; a longer one is split into several.
	maxBuildLine = 8 << 10
	// buildEnd is how long to wait for the output of a build after it was killed.
	buildEnd = 2 * time.Second
)

// Build implements runtime.Runtime: it runs the language's own build, as the user that containers run as. The image
// holds only the program.
func (r *Runtime) Build(ctx context.Context, spec runtime.BuildSpec, output func(line string)) (runtime.Image, error) {
	if err := r.check(ctx); err != nil {
		return runtime.Image{}, err
	}
	if spec.Confined {
		return runtime.Image{}, confined("builds")
	}
	if spec.Language != languageGo {
		return runtime.Image{}, &runtime.RejectedError{
			Reason: api.ReasonBuildFailed, Detail: "plain processes are built from Go programs alone, and this source is built by: " + spec.Language,
			Next: "run on a node with Docker, or name in image a folder that holds the built program",
		}
	}
	made, err := os.MkdirTemp(filepath.Dir(spec.Folder), "made-")
	if err != nil {
		return runtime.Image{}, diskFull(err)
	}
	defer os.RemoveAll(made)
	if err := r.buildGo(ctx, spec, made, output); err != nil {
		return runtime.Image{}, diskFull(err)
	}
	image, err := r.claim(r.images.Add(ctx, made, rootfs.Config{Entrypoint: []string{"/app"}}))
	if err != nil {
		return runtime.Image{}, diskFull(err)
	}
	of := built{
		ID: image.ID, Owner: spec.Labels[api.LabelBuildOwner], Scope: spec.Labels[api.LabelBuildScope], Build: spec.Labels[api.LabelBuildID],
	}
	for _, tag := range spec.Tags {
		if err := r.remember(tag, of); err != nil {
			return runtime.Image{}, err
		}
	}
	r.prune()
	return runtime.Image{ID: image.ID, Reference: spec.Tags[0]}, nil
}

// buildGo compiles into the folder made.
func (r *Runtime) buildGo(ctx context.Context, spec runtime.BuildSpec, made string, output func(line string)) error {
	account, err := r.account("", "")
	if err != nil {
		return err
	}
	cache := filepath.Join(filepath.Dir(r.dir), "build")
	if err := os.MkdirAll(cache, 0o711); err != nil {
		return err
	}
	if user := account.user; user != nil {
		err := errors.Join(os.Lchown(cache, int(user.UID), int(user.GID)), giveTo(made, int(user.UID), int(user.GID)),
			giveTo(spec.Folder, int(user.UID), int(user.GID)))
		if err != nil {
			return err
		}
	}
	target := "." + path.Clean("/"+spec.Target)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", filepath.Join(made, "app")}
	if spec.NoCache {
		args = append(args, "-a")
	}
	command := exec.CommandContext(ctx, "go", append(args, target)...)
	command.Dir = filepath.Join(spec.Folder, filepath.FromSlash(path.Clean("/"+spec.Source)))
	command.Env = buildEnvironment(spec.Args, cache)
	// The build ends with this program: after a restart, Tend starts a new build, and both would run.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if user := account.user; user != nil {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID, Groups: user.Groups}
	}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = buildEnd
	output("Step 1/1 : go build " + target)
	return streamed(ctx, command, output)
}

// streamed runs a command and passes its output on line by line.
func streamed(ctx context.Context, command *exec.Cmd, output func(line string)) error {
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	read := make(chan struct{})
	recovery.Go(func() {
		defer close(read)
		defer reader.Close() // else the command would wait for a reader that ended
		lines := bufio.NewReaderSize(reader, maxBuildLine)
		for {
			line, _, err := lines.ReadLine()
			if err != nil {
				return
			}
			output(string(line))
		}
	})
	goruntime.LockOSThread() // whose end Pdeathsig means
	err := command.Run()
	goruntime.UnlockOSThread()
	_ = writer.Close()
	<-read
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("build: %w", ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		return &runtime.RejectedError{
			Reason: api.ReasonBuildFailed, Detail: "there is no go on this machine's PATH", Next: "install Go on the node, or run on one with Docker",
		}
	case errors.As(err, &exit):
		return &runtime.RejectedError{
			Reason: api.ReasonBuildFailed, Detail: "step 1/1 go build: " + exit.Error(), Next: "correct the source and apply again",
		}
	}
	return fmt.Errorf("build: %w", err)
}

// buildEnvironment returns what a build sees: where tools are and modules come from, its arguments, and folders of its
// own.
func buildEnvironment(args map[string]string, cache string) []string {
	env := map[string]string{"CGO_ENABLED": "0", "PATH": defaultPath}
	for _, name := range []string{"PATH", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOSUMCHECK", "GOTOOLCHAIN", "GOROOT",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, found := os.LookupEnv(name); found {
			env[name] = value
		}
	}
	for name, value := range args {
		env[name] = value
	}
	env["HOME"], env["TMPDIR"] = cache, cache
	env["GOPATH"], env["GOCACHE"] = filepath.Join(cache, "go"), filepath.Join(cache, "go-build")
	env["GOFLAGS"] = "-modcacherw" // so that what was fetched can be removed again
	return pairs(env)
}

// giveTo changes the owner of a folder and all its content. It changes links themselves and does not follow them.
func giveTo(dir string, uid, gid int) error {
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, uid, gid)
	})
}
