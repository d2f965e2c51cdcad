package compose

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/compose-spec/compose-go/v2/dotenv"
)

// registerRaw gives compose-go the format raw of env_file, which Docker Compose registers too.
var registerRaw = sync.OnceFunc(func() { dotenv.RegisterFormat("raw", rawVariables) })

// rawVariables reads lines as `docker run --env-file` does: quotes and dollar signs belong to the value, and a name
// alone takes its value from the environment.
func rawVariables(r io.Reader, file string, vars map[string]string, lookup func(name string) (string, bool)) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF")
		}
		if line = strings.TrimLeftFunc(line, unicode.IsSpace); line == "" || line[0] == '#' {
			continue
		}
		name, value, given := strings.Cut(line, "=")
		if name == "" || strings.ContainsAny(name, " \t") {
			return fmt.Errorf("%s: line %d: %q is not the name of a variable", file, n, name)
		}
		if !given {
			if value, given = lookup(name); !given {
				continue
			}
		}
		vars[name] = value
	}
	return lines.Err()
}
