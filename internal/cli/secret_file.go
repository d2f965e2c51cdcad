package cli

import (
	"fmt"
	"os"
)

// warnShared warns of files with a secret that others than their owner may read. A missing file is reported where it is
// read.
func (a *app) warnShared(paths ...string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
			name := printable(path, "")
			fmt.Fprintf(a.err, "warning: others may read %s (mode %#o): chmod 600 %s\n", name, info.Mode().Perm(), name)
		}
	}
}
