package cli

import (
	"os"
	"os/user"
)

// restoreHome sets HOME from the user database if it is missing, as docker and git expect it. systemd starts a
// service of root without HOME, and then `docker login`, git's configuration and SSH's keys wouldn't be found.
func restoreHome() {
	if os.Getenv("HOME") != "" {
		return
	}
	if current, err := user.Current(); err == nil && current.HomeDir != "" {
		_ = os.Setenv("HOME", current.HomeDir)
	}
}
