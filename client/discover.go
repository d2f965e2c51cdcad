package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DefaultRoot is the default folder for the files of a system's server.
const DefaultRoot = "/var/lib/tend"

// SocketName and TokenName are files in a server's root.
const (
	SocketName = "tend.sock"
	TokenName  = "token"
)

// Discover finds the server: TEND_SERVER; else the socket in TEND_ROOT; else the system's socket if it exists; else
// that of the user's own server; else that of a `tend dev` in the working directory, if the user started it. The token
// for an http or https server is TEND_TOKEN. The token in a server's root is sent to no port by itself: another program
// may listen there while that server is down, and a user who may read the file may open the socket beside it.
func Discover(getenv func(string) string) Options {
	opts := Options{Server: getenv("TEND_SERVER"), Token: getenv("TEND_TOKEN"), PluginCall: getenv("TEND_PLUGIN_CALL"),
		Traceparent: getenv("TRACEPARENT")}
	roots := roots(getenv)
	switch {
	case opts.Server != "":
		opts.ServerFrom = "TEND_SERVER"
	case getenv("TEND_ROOT") != "":
		opts.ServerFrom = "TEND_ROOT"
	}
	if opts.Server == "" {
		root, found, denied := roots[len(roots)-1], false, false
		for _, candidate := range roots {
			_, err := os.Stat(filepath.Join(candidate, SocketName))
			if err == nil {
				root, found = candidate, true
				break
			}
			if errors.Is(err, fs.ErrPermission) && !denied { // the call itself reports the missing permission
				root, denied = candidate, true
			}
		}
		if private, there := privateRoot(); there && !found && !denied && getenv("TEND_ROOT") == "" {
			root = private
		}
		opts.Server = "unix://" + filepath.Join(root, SocketName)
	}
	switch {
	case !strings.HasPrefix(opts.Server, "http"):
	case opts.Token != "":
		opts.TokenFrom = "TEND_TOKEN"
	default:
		opts.TokenFrom = "--token, TEND_TOKEN"
	}
	return opts
}

// DevRoot is the folder of `tend dev`'s files, within the folder in which it is started.
const DevRoot = ".tend"

// privateRoot returns DevRoot in the working directory if a server of the same user has its socket there. Another
// user's socket in a shared folder could intercept the calls.
func privateRoot() (root string, there bool) {
	root, err := filepath.Abs(DevRoot)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(filepath.Join(root, SocketName))
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return "", false
	}
	return root, isOurs(info)
}

// roots returns the possible folders of a server's files, the most likely first.
func roots(getenv func(string) string) []string {
	if root := getenv("TEND_ROOT"); root != "" {
		if absolute, err := filepath.Abs(root); err == nil {
			root = absolute
		}
		return []string{root}
	}
	out := []string{DefaultRoot}
	if data := getenv("XDG_DATA_HOME"); data != "" {
		return append(out, filepath.Join(data, "tend"))
	}
	if home := getenv("HOME"); home != "" {
		return append(out, filepath.Join(home, ".local", "share", "tend"))
	}
	return out
}
