package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestServersRunOnLinuxOnly(t *testing.T) {
	if err := canRunContainers("linux"); err != nil {
		t.Error(err)
	}
	err := canRunContainers("darwin")
	if !errors.Is(err, errNotLinux) || !strings.Contains(err.Error(), "this is darwin") ||
		!strings.Contains(err.Error(), "--server") {
		t.Errorf("%v; want the system and the next step", err)
	}
}
