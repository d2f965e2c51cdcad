package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// appendRows simulates a database: it locks the file args[0] and appends a row, "<host> <number>", every 10 ms until a
// signal ends it. A second one on the same file writes the row "<host> second" and continues all the same, as over a
// file system without locks.
func appendRows(args []string) int {
	file, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return code(err)
	}
	host, _ := os.Hostname()
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		fmt.Fprintln(file, host, "second")
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	tick := time.NewTicker(10 * time.Millisecond)
	for row := 1; ; row++ {
		if _, err := fmt.Fprintln(file, host, row); err != nil {
			return code(err)
		}
		select {
		case <-tick.C:
		case <-signals:
			_, err := fmt.Fprintln(file, host, "end", row)
			return code(err)
		}
	}
}
