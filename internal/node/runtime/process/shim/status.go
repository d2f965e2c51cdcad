//go:build linux

package shim

import (
	"errors"
	"os"
	"time"

	"tend.dev/tend/internal/node/runtime"
)

// Status is the state of the container that its shim wrote last.
type Status struct {
	Shim Identity `json:"shim"`
	// State is created (the first start failed), running, restarting or exited.
	State        runtime.State `json:"state"`
	PID          int           `json:"pid,omitempty"`
	StartedAt    time.Time     `json:"startedAt,omitzero"`
	FinishedAt   time.Time     `json:"finishedAt,omitzero"`
	ExitCode     int           `json:"exitCode"`
	OOMKilled    bool          `json:"oomKilled,omitempty"`
	RestartCount int           `json:"restartCount,omitempty"`
	// Error is the reason why the last start failed.
	Error string `json:"error,omitempty"`
	// Abandoned is set if the shim ended without recording the program's end. ReadStatus sets it; it is never stored.
	Abandoned bool `json:"-"`
}

// lostCode is the exit code of a program whose shim was killed or whose machine went down: that of SIGKILL, which the
// kernel sends.
const lostCode = 137

// ReadStatus returns the state of a container. If the shim is gone, its program died with it, and ReadStatus corrects
// the status.
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

// damagedStatus returns the state of a container whose status can't be read. The shim's lock shows whether the shim
// lives; the next status that it writes replaces the damaged one.
func damagedStatus(dir string) (Status, error) {
	running, err := locked(dir)
	if err != nil {
		return Status{}, err
	}
	if running {
		return Status{State: runtime.StateRunning, StartedAt: lastWord(dir, time.Time{})}, nil
	}
	ended := lastWord(dir, time.Time{})
	return Status{
		State: runtime.StateExited, ExitCode: lostCode, StartedAt: ended, FinishedAt: ended, Abandoned: true,
	}, nil
}

// SaveEnd stores the end that ReadStatus found. If a shim was started meanwhile, it does nothing: that shim writes the
// status.
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

// lastWord returns the latest time at which the container is known to have run, for an end that nobody observed.
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

// Active reports whether the shim still has something to do.
func (s Status) Active() bool {
	return s.State == runtime.StateRunning || s.State == runtime.StateRestarting
}
