package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// DefaultRoot is where a system's server keeps its files.
const DefaultRoot = "/var/lib/tend"

// SocketName and TokenName are files in a server's root.
const (
	SocketName = "tend.sock"
	TokenName  = "token"
)

// Discover finds the server: TEND_SERVER; else the socket in TEND_ROOT; else the system's socket if it is there; else
// the one of the user's own server. The token of an http server is TEND_TOKEN, else the file in the same roots.
func Discover(getenv func(string) string) Options {
	opts := Options{Server: getenv("TEND_SERVER"), Token: getenv("TEND_TOKEN"), PluginCall: getenv("TEND_PLUGIN_CALL")}
	roots := roots(getenv)
	if opts.Server == "" {
		root, denied := roots[len(roots)-1], false
		for _, candidate := range roots {
			_, err := os.Stat(filepath.Join(candidate, SocketName))
			if err == nil {
				root = candidate
				break
			}
			if errors.Is(err, fs.ErrPermission) && !denied { // the call itself will say what is in the way
				root, denied = candidate, true
			}
		}
		opts.Server = "unix://" + filepath.Join(root, SocketName)
	}
	if opts.Token == "" && strings.HasPrefix(opts.Server, "http") {
		opts.Token = tokenIn(roots)
	}
	return opts
}

// roots are where a server may keep its files, the likeliest first.
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

func tokenIn(roots []string) string {
	for _, root := range roots {
		if content, err := os.ReadFile(filepath.Join(root, TokenName)); err == nil {
			return strings.TrimSpace(string(content))
		}
	}
	return ""
}
