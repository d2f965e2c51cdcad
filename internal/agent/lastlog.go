package agent

import (
	"context"
	"time"

	"tend.dev/tend/internal/runtime"
)

// What is kept of a failed container's output, and how long reading it may take.
const (
	lastLines    = 20
	lastBytes    = 4 << 10
	lastLogLimit = 6 * time.Second
)

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
