package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"tend.dev/tend/api"
)

// Record holds everything needed to run a container. It never changes. It may hold the environment, so its file has
// mode 0600.
type Record struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Restart   string            `json:"restart"`
	Image     string            `json:"image"`
	ImageID   string            `json:"imageID"`
	Ports     []api.PortBinding `json:"ports,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	Program   Program           `json:"program"`
	// Sealed is the program's environment, encrypted so that only the runtime's owner can open it. If it is set,
	// Program.Env is empty and the process that starts the program passes the environment along.
	Sealed []byte `json:"sealed,omitempty"`
	// LogSize and LogFiles bound the stored output.
	LogSize  int64 `json:"logSize"`
	LogFiles int   `json:"logFiles"`
}

// Program is the program to run, with every part resolved.
type Program struct {
	// Path is the executable. Args are its arguments, including Args[0].
	Path string   `json:"path"`
	Args []string `json:"args"`
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir"`
	// User is the user to run as. Nil means the shim's own user.
	User *User `json:"user,omitempty"`
	// StopSignal is the number of a signal. 0 means SIGTERM.
	StopSignal int `json:"stopSignal,omitempty"`
	// Limits are the soft and hard values of resource limits, by name (nofile).
	Limits map[string][2]uint64 `json:"limits,omitempty"`
	// CPU is in cores and Memory in bytes. 0 means no limit.
	CPU    float64 `json:"cpu,omitempty"`
	Memory int64   `json:"memory,omitempty"`
}

// User is a resolved user.
type User struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups,omitempty"`
}

// Signal returns the program's stop signal.
func (p Program) Signal() syscall.Signal {
	if p.StopSignal == 0 {
		return syscall.SIGTERM
	}
	return syscall.Signal(p.StopSignal)
}

// The files of a container's folder.
const (
	recordFile = "record.json"
	copyFile   = "record.copy.json"
	statusFile = "status.json"
	lockFile   = "lock"
	socketFile = "shim.sock"
)

// maxFile is the most that is read of a file: enough for an environment.
const maxFile = 8 << 20

// ErrDamaged means that neither the record nor its copy can be read, or that they belong to another container.
var ErrDamaged = errors.New("the record is damaged")

// WriteRecord writes a container's record and a copy into its folder: a running container without a record would belong
// to no runtime.
func WriteRecord(dir string, record Record) error {
	return errors.Join(writeJSON(dir, copyFile, record), writeJSON(dir, recordFile, record))
}

// ReadRecord reads the record, or its copy if the record is damaged. It returns os.ErrNotExist for a folder with
// neither, which is not a container.
func ReadRecord(dir string) (Record, error) {
	record, err := readRecord(dir, recordFile)
	if err == nil {
		return record, nil
	}
	saved, copyErr := readRecord(dir, copyFile)
	switch {
	case copyErr == nil:
		return saved, nil
	case errors.Is(err, os.ErrNotExist) && errors.Is(copyErr, os.ErrNotExist):
		return Record{}, err
	}
	return Record{}, fmt.Errorf("%w: %w", ErrDamaged, err)
}

func readRecord(dir, name string) (Record, error) {
	var record Record
	err := readJSON(dir, name, &record)
	if err == nil && record.ID == "" {
		err = fmt.Errorf("read %s: it names no container", filepath.Join(dir, name))
	}
	return record, err
}

// writeJSON replaces a file atomically. A reader, or a machine after a power failure, sees either the old file or the
// new one.
func writeJSON(dir, name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(dir, name), raw, 0o600, renameio.WithTempDir(dir)); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

func readJSON(dir, name string, into any) error {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
