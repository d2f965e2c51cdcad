//go:build linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"tend.dev/tend/api"
)

// child starts the program's incarnations. Only one thread uses it, and that thread lives as long as the shim: the
// kernel kills the program when the thread that forked it ends.
type child struct {
	dir    string
	record Record
	group  Group
	home   map[string]string
}

// started is a running incarnation.
type started struct {
	pid    int
	stdout *os.File
	stderr *os.File
}

// start forks the program. The caller reads its output.
func (c *child) start() (run started, err error) {
	if err := c.checkPath(); err != nil {
		return started{}, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return started{}, err
	}
	defer null.Close()
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		return started{}, err
	}
	defer outWrite.Close()
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		return started{}, errors.Join(err, outRead.Close())
	}
	defer errWrite.Close()
	pid, err := c.fork([]*os.File{null, outWrite, errWrite})
	if err != nil {
		_, _ = outRead.Close(), errRead.Close()
		return started{}, err
	}
	return started{pid: pid, stdout: outRead, stderr: errRead}, nil
}

func (c *child) fork(files []*os.File) (int, error) {
	program := c.record.Program
	attr := &os.ProcAttr{Dir: program.Dir, Env: program.Env, Files: files, Sys: &syscall.SysProcAttr{
		Setsid: true, Pdeathsig: syscall.SIGKILL,
	}}
	path, args := program.Path, program.Args
	if len(program.Limits) > 0 {
		// Between fork and program the child process runs a stage of its own, which sets the limits and then changes the
		// user: only root may raise a limit.
		path, args = selfPath, []string{"tend", command, stageLimits, c.dir}
	} else {
		attr.Sys.Credential = program.User.Credential()
	}
	return c.forkInGroup(path, args, attr)
}

func (c *child) forkInGroup(path string, args []string, attr *os.ProcAttr) (int, error) {
	if c.group.unified && c.group.memory != "" {
		folder, err := os.Open(c.group.memory)
		if err != nil {
			return 0, err
		}
		defer folder.Close()
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(folder.Fd())
	}
	if err := c.group.enter(); err != nil {
		return 0, fmt.Errorf("enter control group: %w", err)
	}
	defer c.group.leave(c.home)
	process, err := os.StartProcess(path, args, attr)
	if err != nil {
		return 0, err
	}
	pid := process.Pid
	// The reaper waits for the process.
	return pid, process.Release()
}

// correctCommand is the step against a program that can't be run.
const correctCommand = "correct `command` or `entrypoint`"

// checkPath returns clear errors for common mistakes: the error of the fork may name the shim instead.
func (c *child) checkPath() error {
	program := c.record.Program
	name, node := program.Args[0], c.record.Labels[api.LabelNode]
	if info, err := os.Stat(program.Dir); err != nil || !info.IsDir() {
		return &StartError{"InvalidWorkingDir",
			fmt.Sprintf("neither the image nor node %s has a folder %s to run in", node, program.Dir), "correct `working_dir`"}
	}
	info, err := os.Stat(program.Path)
	switch {
	case err != nil:
		return &StartError{"CommandNotFound", fmt.Sprintf("neither the image nor node %s has a program %s", node, name),
			correctCommand}
	case info.IsDir():
		return &StartError{"CommandNotExecutable", name + " is a folder, not a program", correctCommand}
	case info.Mode()&0o111 == 0:
		return &StartError{"CommandNotExecutable", name + " isn't executable",
			"make it executable (chmod +x), or correct `command`"}
	}
	return nil
}

// startError returns the error of a failed start with its reason and the step that helps.
func (c *child) startError(err error) *StartError {
	if start, ok := errors.AsType[*StartError](err); ok {
		return start
	}
	name, node := c.record.Program.Args[0], c.record.Labels[api.LabelNode]
	switch {
	case errors.Is(err, os.ErrPermission):
		return &StartError{"CommandNotExecutable", "the container's user may not run " + name,
			"let that user run it and enter every folder above it, or correct `user`"}
	case errors.Is(err, syscall.ENOEXEC):
		return &StartError{"CommandNotExecutable",
			fmt.Sprintf("%s is not a program for node %s, or is a script without #!", name, node), correctCommand}
	case errors.Is(err, os.ErrNotExist): // the file is there: checkPath has seen it
		return &StartError{"CommandNotFound", name + " names an interpreter or a loader that doesn't exist",
			"install that, or " + correctCommand}
	}
	return &StartError{"StartFailed", err.Error(), correctCause}
}

// Credential returns the ids with which a process runs as the user. Nil means that the user stays the same.
func (u *User) Credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}
