package failures

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"tend.dev/tend/internal/test/testimage"
)

// tendBinary is the program that the scripts run, serverBinary the one that the containers run.
var tendBinary, serverBinary string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "tendfail")
	if err == nil {
		tendBinary = filepath.Join(dir, "tend")
		err = prepare()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the failures:", err)
	} else {
		code = m.Run()
	}
	for _, end := range slices.Backward(endings) {
		end()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// endings are stopped at the end, the last first. Scripts run at the same time, so they are added only by atEnd.
var (
	endings []func()
	ending  sync.Mutex
)

func atEnd(do func()) {
	ending.Lock()
	defer ending.Unlock()
	endings = append(endings, do)
}

func prepare() (err error) {
	build := exec.Command("go", "build", "-o", tendBinary, "tend.dev/tend/cmd/tend")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build tend: %w: %s", err, output)
	}
	serverBinary, err = testimage.Binary(context.Background())
	return err
}
