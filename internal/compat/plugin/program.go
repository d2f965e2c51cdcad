package plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// program is the beginning of a command line: a file, and with an entrypoint the command after it.
type program []string

// programs returns the commands of a folder. With an entrypoint they are the declared ones; otherwise every executable
// file in commands and bin is one, and a file in bin comes before one in commands.
func programs(dir string, d Description) (map[string]program, error) {
	out := map[string]program{}
	if d.Entrypoint != "" {
		for _, command := range d.Commands {
			out[command.Name] = program{filepath.Join(dir, d.Entrypoint), command.Name}
		}
		return out, nil
	}
	for _, folder := range []string{"commands", "bin"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			path := filepath.Join(dir, folder, entry.Name())
			if !strings.HasPrefix(entry.Name(), ".") && executable(path) == nil {
				out[entry.Name()] = program{path}
			}
		}
	}
	return out, nil
}
