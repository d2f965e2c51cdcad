//go:build linux

package shim

import (
	"errors"
	"os"
	"time"

	"tend.dev/tend/internal/runtime"
)

// Status is the last state that a shim wrote of its container.
type Status struct {
	Shim Identity `json:"shim"`
	// State is created (a first start that failed), running, restarting or exited.
	State        runtime.State `json:"state"`
	PID          int           `json:"pid,omitempty"`
	StartedAt    time.Time     `json:"startedAt,omitzero"`
	FinishedAt   time.Time     `json:"finishedAt,omitzero"`
	ExitCode     int           `json:"exitCode"`
	OOMKilled    bool          `json:"oomKilled,omitempty"`
	RestartCount int           `json:"restartCount,omitempty"`
	// Error is why the last start failed.
	Error string `json:"error,omitempty"`
	// Abandoned: the shim ended without recording it. Set by ReadStatus, never stored.
	Abandoned bool `json:"-"`
}

// lostCode is the exit code of a program whose shim was killed or whose machine went down: that of SIGKILL, which is
// what the kernel sent.
const lostCode = 137

// ReadStatus returns the state of a container. It corrects a status whose shim is gone: its program died with it.
func ReadStatus(dir string) (Status, error) {
	var status Status
	err := readJSON(dir, statusFile, &status)
	if errors.Is(err, os.ErrNotExist) {
		return Status{State: runtime.StateCreated}, nil
	}
	if err != nil {
		return damagedStatus(dir)
	}
	if status.Active() && !status.Shim.Alive() {
		status.State, status.PID, status.ExitCode, status.Abandoned = runtime.StateExited, 0, lostCode, true
		if status.FinishedAt.Before(status.StartedAt) {
			status.FinishedAt = lastWord(dir, status.StartedAt)
		}
	}
	return status, nil
}

// damagedStatus returns what a container does whose status can't be read. Its shim's lock says whether it lives; a
// status that it writes later replaces the damaged one.
func damagedStatus(dir string) (Status, error) {
	running, err := locked(dir)
	if err != nil {
		return Status{}, err
	}
	if running {
		return Status{State: runtime.StateRunning, StartedAt: lastWord(dir, time.Time{})}, nil
	}
	ended := lastWord(dir, time.Time{})
	return Status{State: runtime.StateExited, ExitCode: lostCode, StartedAt: ended, FinishedAt: ended, Abandoned: true}, nil
}

// SaveEnd stores the end that ReadStatus found, unless a shim was started meanwhile, which then writes the status.
func SaveEnd(dir string, status Status) error {
	unlock, err := lock(dir)
	if errors.Is(err, ErrRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	return writeJSON(dir, statusFile, status)
}

// lastWord returns the latest time the container is known to have run, for an end that was not observed.
func lastWord(dir string, started time.Time) time.Time {
	latest := started
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest
}

// Active reports whether a shim has something to do.
func (s Status) Active() bool {
	return s.State == runtime.StateRunning || s.State == runtime.StateRestarting
}
