//go:build integration

package e2e

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/test/testimage"
)

// parallel is the number of stories that run at a time: they wait more than they work.
const parallel = "5"

// tendBinary is the program that every test runs; repository is the prefix of the images they run it on.
var (
	tendBinary string
	repository = "tendtest-" + random()
)

var versions = []string{"v1", "v2", "v3"}

// image returns the reference of a version of the test server.
func image(version string) string { return repository + "/server:" + version }

func TestMain(m *testing.M) {
	flag.Parse()
	if !explicitlyParallel() {
		_ = flag.Set("test.parallel", parallel) // the flag exists in every test binary
	}
	dir, err := os.MkdirTemp("", "tendtest-")
	if err == nil {
		tendBinary = filepath.Join(dir, "tend")
		err = prepare()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the end-to-end tests:", err)
	} else {
		code = m.Run()
	}
	if err := errors.Join(forget(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "clean up after the end-to-end tests:", err)
		code = 1
	}
	os.Exit(code)
}

func explicitlyParallel() (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	return set
}

// prepare builds the binary, with failpoints, and the images once for all tests.
func prepare() error {
	build := exec.Command("go", "build", "-tags", "failpoints", "-o", tendBinary, "tend.dev/tend/cmd/tend")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build tend: %w: %s", err, output)
	}
	for _, version := range versions {
		if err := testimage.Ensure(context.Background(), version, image(version)); err != nil {
			return err
		}
	}
	return nil
}

func forget() error {
	faults := []error{dropLate()}
	for _, version := range versions {
		faults = append(faults, testimage.Remove(context.Background(), image(version)))
	}
	return errors.Join(faults...)
}

// scopes are the scopes in which tests declared objects.
var scopes struct {
	sync.Mutex
	names []string
}

// dropLate removes late containers: the engine may finish a create of a killed server after its test has searched for
// containers.
func dropLate() error {
	for _, scope := range scopes.names {
		listed, err := exec.Command("docker", "ps", "--all", "--quiet", "--filter", "label="+
			api.LabelScope+"="+scope).Output()
		if err != nil {
			return fmt.Errorf("list the containers of scope %s: %w", scope, err)
		}
		for _, id := range strings.Fields(string(listed)) {
			if said, err := exec.Command("docker", "rm", "--force", "--volumes", id).CombinedOutput(); err != nil {
				return fmt.Errorf("remove container %s of scope %s: %w: %s", id, scope, err, said)
			}
		}
	}
	return nil
}

func random() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
