package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// quietEnough is the idle share of all processors a turn waits for, and quietWait how long it does.
	quietEnough = 0.6
	quietWait   = 30 * time.Second
	quietSample = 500 * time.Millisecond
)

// awaitQuiet waits until the machine is idle enough, and returns its idle share at the end of the wait.
func awaitQuiet(ctx context.Context) float64 {
	deadline := time.Now().Add(quietWait)
	for {
		idle := idleShare(ctx, quietSample)
		if idle >= quietEnough || time.Now().After(deadline) || ctx.Err() != nil {
			return idle
		}
	}
}

// idleShare returns the idle share of the processors' time over a while.
func idleShare(ctx context.Context, over time.Duration) float64 {
	idleBefore, allBefore, err := processorTime()
	if err != nil {
		return 0
	}
	select {
	case <-time.After(over):
	case <-ctx.Done():
	}
	idle, all, err := processorTime()
	if err != nil || all == allBefore {
		return 0
	}
	return float64(idle-idleBefore) / float64(all-allBefore)
}

// processorTime reads the first line of /proc/stat, in ticks.
func processorTime() (idle, all int64, err error) {
	file, err := os.Open("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	line, err := bufio.NewReader(file).ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	return parseProcessorTime(line)
}

// parseProcessorTime reads "cpu user nice system idle iowait irq softirq steal …". Waiting for a disk is idle too.
func parseProcessorTime(line string) (idle, all int64, err error) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0, 0, errors.New("/proc/stat doesn't begin with the processors' times")
	}
	for i, field := range fields[1:min(len(fields), 9)] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		all += ticks
		if i == 3 || i == 4 {
			idle += ticks
		}
	}
	return idle, all, nil
}
