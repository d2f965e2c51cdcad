package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"tend.dev/tend/internal/server/backup"
)

// commandWait is the time in which a command must end once it has the whole backup: it may still upload it.
const commandWait = 6 * time.Hour

// commandBackup writes a backup to a command's standard input. If the backup fails half-way, it kills the command, so
// that the command doesn't mistake the end of its input for a complete backup.
func (d *daemon) commandBackup(ctx context.Context, at time.Time) (made storedBackup, err error) {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	said := &lastLines{}
	command := exec.CommandContext(ctx, "sh", "-c", d.Backups.Command)
	command.Env = append(os.Environ(), "TEND_BACKUP_CLUSTER="+d.cluster.UID, "TEND_BACKUP_NAME="+
		backup.Name(d.cluster.UID, at, !d.Backups.Unencrypted))
	command.Stdout, command.Stderr = said, said
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 5 * time.Second
	input, err := command.StdinPipe()
	if err != nil {
		return made, err
	}
	if err := command.Start(); err != nil {
		return made, fmt.Errorf("run the backup command: %w", err)
	}
	made, err = d.sealedBackup(ctx, input)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		late := time.AfterFunc(time.Minute, kill)
		defer late.Stop()
		if err = command.Wait(); err == nil {
			err = errors.New("exit status 0")
		}
		return made, fmt.Errorf("the backup command: %w before it had read all%s", err, said)
	}
	if err != nil {
		kill()
		_ = command.Wait()
		return made, fmt.Errorf("the backup command: %w%s", err, said)
	}
	late := time.AfterFunc(commandWait, kill)
	defer late.Stop()
	if err := errors.Join(input.Close(), command.Wait()); err != nil {
		return made, fmt.Errorf("the backup command: %w%s", err, said)
	}
	made.name = d.Backups.Command
	return made, nil
}

// lastLines keeps the last lines of an output.
type lastLines struct {
	mu   sync.Mutex
	text string
}

// lastBytes is the size of a command's output that is kept.
const lastBytes = 2000

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += string(p)
	if cut := len(l.text) - lastBytes; cut > 0 {
		l.text = l.text[cut:]
	}
	return len(p), nil
}

// String returns the last five lines, with a colon before them.
func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(l.text), "\n")
	if lines = lines[max(0, len(lines)-5):]; len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return ": " + strings.Join(lines, " | ")
}
