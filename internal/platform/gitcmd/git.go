package gitcmd

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tend.dev/tend/internal/platform/recovery"
	"tend.dev/tend/internal/platform/subprocess"
)

const (
	// maxWords bounds git's messages.
	maxWords = 1 << 20
	// measureEvery is the time between two measurements of a running fetch: git itself has no size limit.
	measureEvery = 500 * time.Millisecond
)

// Access is a repository, and how it is reached.
type Access struct {
	// URL is any URL that git clones. Credentials in it override Username and Password.
	URL string
	// Username and Password are the credentials for an http or https URL.
	Username, Password string
	// KeyFile holds the private key for ssh, KnownHosts the accepted host keys. Default: the user's own files.
	KeyFile, KnownHosts string
	// Direct forbids the repository's server to redirect git: the target could be this machine itself.
	Direct bool
	// At are the addresses of the URL's host, of http, https and git. Empty: git looks the name up, which may lead
	// elsewhere each time.
	At []netip.Addr
}

// Call is one call of git.
type Call struct {
	Access
	// Options stand before the command, Args after it. Args gets the URL without credentials.
	Options []string
	Args    func(repository string) []string
	Dir     string
	// Env is the environment; Call adds its own to it.
	Env map[string]string
	// Limit bounds the time of the call, Stdout its output. Default of Stdout: 1 MiB.
	Limit  time.Duration
	Stdout int64
	// Memory bounds what each process of git allocates. Default: no bound.
	Memory int64
	// TooLarge is called at intervals; its error, for a result that is too large, ends the call. Default: no check.
	TooLarge func() error
}

// ErrQuery is the error of a URL with a query: git doesn't send it as one, and would show it in the arguments of its
// helpers.
var ErrQuery = errors.New("the URL has a query, which git doesn't send: put a token before the host (https://TOKEN@host/…)")

// Run calls the git program. The transports are https, http, git, ssh and file: a remote helper (ext::, or any
// installed git-remote-x) would be a program of the source's choice.
func Run(ctx context.Context, program string, c Call) (subprocess.Output, error) {
	repository, access, credentials := c.split()
	if web, query := strings.HasPrefix(repository, "http"), strings.Contains(repository, "?"); web && query {
		return subprocess.Output{}, ErrQuery
	}
	argv := slices.Concat([]string{program, "-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false"},
		c.redirects(), c.pinned(), access, c.Options, c.Args(c.at(repository)))
	env := map[string]string{"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": c.ssh(), "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_ALLOW_PROTOCOL": "https:http:git:ssh:file", "GIT_LFS_SKIP_SMUDGE": "1"}
	maps.Copy(env, credentials)
	maps.Copy(env, c.virtual(repository))
	lines := make([]string, 0, len(c.Env)+len(env))
	for name, value := range c.Env {
		if _, own := env[name]; !own {
			lines = append(lines, name+"="+value)
		}
	}
	for name, value := range env {
		lines = append(lines, name+"="+value)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	measured := make(chan struct{})
	recovery.Go(func() { defer close(measured); measure(ctx, c.TooLarge, cancel) })
	out, err := subprocess.Process{
		Argv: argv, Dir: c.Dir, Env: lines, Limit: c.Limit, Stdout: max(c.Stdout, maxWords), Stderr: maxWords,
		Memory: c.Memory,
	}.Run(ctx)
	cancel(nil)
	<-measured
	return out, err
}

// redirects returns the option that refuses them.
func (a Access) redirects() []string {
	if a.Direct {
		return []string{"-c", "http.followRedirects=false"}
	}
	return nil
}

// ssh returns the command line of the program that git reaches ssh repositories with.
func (a Access) ssh() string {
	words := []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30"}
	if a.KeyFile != "" {
		words = append(words, "-o", "IdentitiesOnly=yes", "-i", quoted(a.KeyFile))
	}
	if a.KnownHosts != "" {
		words = append(words, "-o", "StrictHostKeyChecking=yes", "-o", quoted("UserKnownHostsFile="+a.KnownHosts), "-o",
			"GlobalKnownHostsFile=/dev/null")
	}
	return strings.Join(words, " ")
}

// quoted returns a word of a shell command.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// measure ends a call that writes too much, until ctx ends.
func measure(ctx context.Context, tooLarge func() error, end context.CancelCauseFunc) {
	if tooLarge == nil {
		return
	}
	tick := time.NewTicker(measureEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := tooLarge(); err != nil {
				end(err)
			}
		}
	}
}

// Size returns the bytes of a folder's files.
func Size(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone, or unreadable
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// Exceeds reports whether a folder has more bytes or more entries than permitted. The folder may change meanwhile;
// unreadable entries don't count.
func Exceeds(folder string, bytes int64, entries int) bool {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is gone, or unreadable
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes -= info.Size()
		}
		if entries--; bytes < 0 || entries < 0 {
			return filepath.SkipAll
		}
		return nil
	})
	return bytes < 0 || entries < 0
}
