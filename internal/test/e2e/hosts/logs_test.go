//go:build integration

package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// brief prints its version, and ends on request.
const brief = `
deployment "prod" "brief" {
  image    = "web:1"
  command  = ["/server", "wait"]
  replicas = 3
  env      = { VERSION = "%d" }
  strategy {
    max_parallel = 3
    monitor      = "300ms"
    drain        = "0s"
  }
}
`

// earlierOutput replaces a pod on each host, and reads the output of the earlier pods through the first host, though
// their containers are removed.
func (l *lab) earlierOutput() {
	l.Helper()
	file := filepath.Join(l.folder, "brief.hcl")
	for version := range 2 {
		if err := os.WriteFile(file, fmt.Appendf(nil, brief, version), 0o644); err != nil {
			l.Fatal(err)
		}
		l.must("apply", "-f", file)
	}
	for _, h := range l.hosts {
		l.until(h.name+" has removed its first container", func() bool {
			return len(strings.Fields(h.docker("ps", "--all", "--quiet", "--filter", "label=tend.name=brief").output)) == 1
		})
	}
	said := l.must("logs", "prod/brief", "--previous")
	if strings.Count(said, "waiting") != 3 || strings.Count(said, "got ") != 3 {
		l.Errorf("the pods before have printed:\n%s", said)
	}
	l.must("delete", "-f", file)
}
