package agent

import (
	"context"
	"strconv"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/runtime"
)

// What is kept of a failed container's output, how long reading it may take, and how many are read at once.
const (
	lastLines    = 20
	lastBytes    = 4 << 10
	lastLogLimit = 30 * time.Second
	logsAtOnce   = 8
)

// lastLogs reads the last lines of containers beside the workers: for a task what its last decision wished for.
type lastLogs struct {
	*operations
	agent *Agent

	mu       sync.Mutex
	readings map[string]*healing.LogReading // by task
	begun    int                            // no two have the same key: one that was given up may still be under way
}

func newLastLogs(a *Agent) *lastLogs {
	return &lastLogs{operations: newOperations(logsAtOnce), agent: a, readings: map[string]*healing.LogReading{}}
}

// of is the reading for a task as it is now; nil where nothing was wished for.
func (l *lastLogs) of(task string) *healing.LogReading {
	l.mu.Lock()
	defer l.mu.Unlock()
	reading := l.readings[task]
	if reading == nil {
		return nil
	}
	out := *reading
	return &out
}

// wish begins a reading, unless it is the one that was begun last. What isn't wished for any more is forgotten.
func (l *lastLogs) wish(task api.Task, wish healing.LogWish) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.readings[task.ID]
	switch {
	case wish == healing.LogWish{}:
		delete(l.readings, task.ID)
		return
	case last != nil && last.Wish == wish:
		return
	}
	reading := &healing.LogReading{Wish: wish, Since: l.agent.now()}
	l.readings[task.ID] = reading
	l.begun++
	var lines []string
	l.begin(task.ID+"/"+strconv.Itoa(l.begun), func(ctx context.Context) error {
		lines = fitting(l.agent.hidden(ctx, task, l.agent.lastLog(ctx, wish.Container)))
		return nil
	}, func(error) {
		l.end(reading, lines)
		l.agent.tasks.Enqueue(taskKey(task.ID))
	})
}

func (l *lastLogs) end(reading *healing.LogReading, lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reading.Done, reading.Lines = true, lines
}

// lastLog reads the end of a container's output as it is; what can't be read is left out.
func (a *Agent) lastLog(ctx context.Context, id string) []string {
	ctx, cancel := context.WithTimeout(ctx, lastLogLimit)
	defer cancel()
	reader, err := a.runtime.Logs(ctx, id, runtime.LogOptions{Tail: lastLines})
	if err != nil {
		return nil
	}
	defer reader.Close()
	var lines []string
	for len(lines) < lastLines {
		line, err := reader.Next()
		if err != nil {
			break
		}
		lines = append(lines, line.Text)
	}
	return lines
}

// fitting keeps the newest lines within the limit; the newest alone is cut.
func fitting(lines []string) []string {
	size := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if size += len(lines[i]); size > lastBytes {
			if i == len(lines)-1 {
				return []string{lines[i][:lastBytes]}
			}
			return lines[i+1:]
		}
	}
	return lines
}
