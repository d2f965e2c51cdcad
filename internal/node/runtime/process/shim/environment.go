//go:build linux

package shim

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// environmentFile is the file descriptor of the program's environment. It is passed in memory, so neither a file on
// disk nor a process list shows it.
const environmentFile = 4

// handOver creates the file and seeks to its beginning.
func handOver(env []string) (*os.File, error) {
	raw, err := json.Marshal(env)
	if err != nil {
		return nil, err
	}
	number, err := unix.MemfdCreate("environment", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("hand over the environment: %w", err)
	}
	file := os.NewFile(uintptr(number), "environment")
	if _, err = file.Write(raw); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("hand over the environment: %w", err)
	}
	return file, nil
}

// handedOver reads the environment and closes the file.
func handedOver() (env []string, err error) {
	file := os.NewFile(environmentFile, "environment")
	defer file.Close()
	if err := json.NewDecoder(file).Decode(&env); err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	return env, nil
}
