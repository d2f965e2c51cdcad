//go:build integration

package packages

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// patience is the time that a condition may take on a busy machine before the test fails. It costs nothing where it
// holds.
const patience = "180s"

// The versions that are packaged; the image has the first.
const (
	older = "0.1.0"
	newer = "0.2.0"
)

var (
	// built is the folder with what make built; debs are the packages by their version.
	built string
	debs  = map[string]string{}
	// names of this run alone.
	prefix       = "tendtest-" + random()
	tendImage    = prefix + "/tend:" + older
	machineImage = prefix + "/machine:1"
)

func TestMain(m *testing.M) {
	var err error
	code := 1
	if built, err = os.MkdirTemp("", "tendtest-"); err == nil {
		err = prepare()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests of packages:", err)
	} else {
		code = m.Run()
	}
	if err := errors.Join(quiet("docker", "rmi", "-f", tendImage, machineImage), os.RemoveAll(built)); err != nil {
		fmt.Fprintln(os.Stderr, "clean up after the tests of packages:", err)
		code = 1
	}
	os.Exit(code)
}

// prepare builds the packages of two versions, the image, and the machine that packages are installed on.
func prepare() error {
	for _, version := range []string{older, newer} {
		if err := quiet("make", "-C", "../../../..", "package", "VERSION=v"+version, "BIN="+built); err != nil {
			return err
		}
		found, _ := filepath.Glob(filepath.Join(built, "tend_"+version+"_*.deb"))
		rpms, _ := filepath.Glob(filepath.Join(built, "tend-"+version+"-*.rpm"))
		if len(found) != 1 || len(rpms) != 1 {
			return fmt.Errorf("make package VERSION=v%s made %d debs and %d rpms", version, len(found), len(rpms))
		}
		debs[version] = filepath.Join(built, version+".deb") // the next `make package` removes its earlier results
		if err := os.Rename(found[0], debs[version]); err != nil {
			return err
		}
		if version != older {
			continue
		}
		if err := quiet("make", "-C", "../../../..", "image", "VERSION=v"+version, "BIN="+built, "IMAGE="+
			tendImage); err != nil {
			return err
		}
	}
	return quiet("testdata/machine.sh", machineImage)
}

// quiet runs a command and returns its output only as an error.
func quiet(name string, args ...string) error {
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, output)
	}
	return nil
}

func random() string {
	var raw [4]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}
