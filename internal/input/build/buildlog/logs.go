package buildlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tend.dev/tend/api/pattern"
)

// maxLog bounds what is stored of one build. Output beyond it is dropped, except for the last line.
const maxLog = 4 << 20

// ErrNotFound: there is no log of that name.
var ErrNotFound = errors.New("no such build")

// name matches the names of logs, which become file names.
var name = pattern.Lazy(`^[a-z0-9][a-z0-9-]*\.[0-9a-f]{1,64}$`)

const suffix = ".log"

// Name returns the name of the log of an application's build. app is <scope>-<name>.
func Name(app, build string) string { return app + "." + build }

// Logs is a folder of logs. Safe for concurrent use.
type Logs struct {
	folder string

	mu   sync.Mutex
	open map[string]*Log
	// begun is closed, and replaced by a new channel, when a log is opened.
	begun chan struct{}
}

// Open makes the folder if it is missing.
func Open(folder string) (*Logs, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open the builds' logs: %w", err)
	}
	return &Logs{folder: folder, open: map[string]*Log{}, begun: make(chan struct{})}, nil
}

func (l *Logs) path(called string) (string, error) {
	if !name().MatchString(called) {
		return "", fmt.Errorf("%.100q: %w", called, ErrNotFound)
	}
	return filepath.Join(l.folder, called+suffix), nil
}

// Begin starts a new log. It removes the output of an earlier build of the name.
func (l *Logs) Begin(called string) (*Log, error) {
	path, err := l.path(called)
	if err != nil {
		return nil, err
	}
	// The file and its writer appear at once: a reader between the two would take an empty log for a complete one.
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = os.Remove(path) // a reader of the removed file continues to read it
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a build's log: %w", err)
	}
	log := &Log{file: file, changed: make(chan struct{})}
	log.ended = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[called] == log {
			delete(l.open, called)
		}
	}
	l.open[called] = log
	close(l.begun)
	l.begun = make(chan struct{})
	return log, nil
}

// Names returns the names of all logs.
func (l *Logs) Names() ([]string, error) {
	entries, err := os.ReadDir(l.folder)
	if err != nil {
		return nil, fmt.Errorf("list the builds' logs: %w", err)
	}
	var out []string
	for _, entry := range entries {
		if called, isLog := strings.CutSuffix(entry.Name(), suffix); isLog {
			out = append(out, called)
		}
	}
	return out, nil
}

// Surplus removes the logs that keep rejects, except the newest extra of them: users read the logs of failed builds
// later.
func (l *Logs) Surplus(keep func(called string) bool, extra int) error {
	entries, err := os.ReadDir(l.folder)
	if err != nil {
		return fmt.Errorf("list the builds' logs: %w", err)
	}
	type old struct {
		path string
		at   time.Time
	}
	var unwanted []old
	for _, entry := range entries {
		called, isLog := strings.CutSuffix(entry.Name(), suffix)
		info, err := entry.Info()
		if !isLog || err != nil || keep(called) || l.writing(called) {
			continue
		}
		unwanted = append(unwanted, old{filepath.Join(l.folder, entry.Name()), info.ModTime()})
	}
	slices.SortFunc(unwanted, func(a, b old) int { return b.at.Compare(a.at) })
	var faults []error
	for _, o := range unwanted[min(extra, len(unwanted)):] {
		if err := os.Remove(o.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func (l *Logs) writing(called string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[called] != nil
}

// Log is the output of one build.
type Log struct {
	mu      sync.Mutex
	file    *os.File
	size    int
	full    bool
	changed chan struct{} // closed, and replaced by a new one, with each line; stays closed at the end
	done    bool
	ended   func()
}

// Line adds a line.
func (l *Log) Line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full || l.done {
		return
	}
	if l.full = l.size+len(text) > maxLog; l.full {
		text = "… what it printed from here on is not kept"
	}
	l.writeLocked(text)
}

// End adds the last line and closes the log.
func (l *Log) End(text string) {
	l.mu.Lock()
	l.writeLocked(text)
	l.done = true
	_ = l.file.Close()
	l.mu.Unlock()
	l.ended()
}

// writeLocked writes a text as one line. A full disk loses lines, but doesn't end the build.
func (l *Log) writeLocked(text string) {
	if l.done {
		return
	}
	n, _ := l.file.WriteString(strings.ReplaceAll(text, "\n", " ") + "\n")
	l.size += n
	close(l.changed)
	l.changed = make(chan struct{})
}

// state returns a channel that closes when the log changes, and whether the log is complete.
func (l *Log) state() (changed <-chan struct{}, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed, l.done
}
