//go:build integration && long

package e2e

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tend.dev/tend/internal/test/fault"
)

// TestMigrationsRunOnceAtEveryPoint is TestMigrationsRunOnce at each failpoint around a release's commands.
func TestMigrationsRunOnceAtEveryPoint(t *testing.T) {
	points := pointsOfARelease(t)
	if len(points) < 10 {
		t.Fatalf("only %d points were passed: %v", len(points), points)
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) { killedAt(t, point) })
	}
}

// pointsOfARelease returns the failpoints that a first release with commands hits once it is applied, each once.
func pointsOfARelease(t *testing.T) []string {
	trace := filepath.Join(t.TempDir(), "points")
	t.Run("trace", func(t *testing.T) {
		m := machineAt(t, "t"+random())
		m.env = []string{fault.EnvTrace + "=" + trace}
		m.start()
		m.deploy(migrated(m))
	})
	file, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		point := lines.Text()
		related := strings.HasPrefix(point, "store.deployment.") || strings.HasPrefix(point, "store.schedule.") ||
			strings.HasPrefix(point, "store.agent.") || strings.HasPrefix(point, "runtime.create.") ||
			strings.HasPrefix(point, "runtime.start.")
		if related && !slices.Contains(out, point) {
			out = append(out, point)
		}
	}
	return out
}
