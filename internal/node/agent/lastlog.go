package agent

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/core/healing"
	"tend.dev/tend/internal/node/runtime"
)

// How much of a failed container's output is kept, how long reading it may take, and how many are read at once.
const (
	lastLines    = 20
	lastBytes    = 4 << 10
	lastLogLimit = 30 * time.Second
	logsAtOnce   = 8
)

// lastLogs reads the last lines of containers outside of the workers, as a task's last decision requested.
type lastLogs struct {
	*operations
	agent *Agent

	mu       sync.Mutex
	readings map[string]*lineReading // by task
	begun    int                     // no two have the same key: a cancelled one may still be under way
}

// lineReading is one reading. cut is set if the engine went away during it, so that it must be repeated.
type lineReading struct {
	healing.LogReading
	cut bool
}

func newLastLogs(a *Agent) *lastLogs {
	return &lastLogs{operations: newOperations(logsAtOnce), agent: a, readings: map[string]*lineReading{}}
}

// of returns the current reading for a task; nil if none was requested.
func (l *lastLogs) of(task string) *healing.LogReading {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.readings[task]
	if at == nil {
		return nil
	}
	out := at.LogReading
	return &out
}

// request starts a reading, unless it is the same as the last one. Readings that are no longer requested are dropped.
func (l *lastLogs) request(task api.Task, request healing.LogRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.readings[task.ID]
	switch {
	case request == healing.LogRequest{}:
		delete(l.readings, task.ID)
		return
	case at == nil || at.Request != request:
		at = &lineReading{LogReading: healing.LogReading{Request: request, Since: l.agent.now()}}
		l.readings[task.ID] = at
	case !at.cut:
		return
	}
	at.cut = false
	l.begun++
	var lines []string
	l.begin(context.Background(), task.ID+"/"+strconv.Itoa(l.begun), func(ctx context.Context) (err error) {
		lines, err = l.agent.lastLog(ctx, request.Container)
		lines = fitting(l.agent.hidden(ctx, task, lines))
		return err
	}, func(err error) { l.end(task.ID, at, lines, err) })
}

// end stores the lines. If the engine went away, its return requeues the task, which reads again what is missing.
func (l *lastLogs) end(task string, at *lineReading, lines []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(lines) == 0 && errors.Is(err, runtime.ErrUnavailable) {
		at.cut = true
		return
	}
	at.Done, at.Lines, at.Silent = true, lines, len(lines) == 0 && errors.Is(err, io.EOF)
	l.agent.tasks.Enqueue(taskKey(task))
}

// lastLog reads the end of a container's output; what can't be read is left out.
func (a *Agent) lastLog(ctx context.Context, id string) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lastLogLimit)
	defer cancel()
	reader, err := a.runtime.Logs(ctx, id, runtime.LogOptions{Tail: lastLines})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for len(lines) < lastLines {
		line, err := reader.Next()
		if ctx.Err() != nil { // the end that the reader then reports isn't that of the output
			return lines, ctx.Err()
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, line.Text)
	}
	return lines, nil
}

// fitting keeps the newest lines within the limit; only the newest may be cut.
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
