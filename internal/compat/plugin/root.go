package plugin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the folder of the plugins and the server's data for them. Dir is required.
type Options struct {
	// Dir is the folder of plugins, one folder each. It need not exist.
	Dir string
	// Node is the controller's name, which plugins get as node_name and TEND_NODE.
	Node string
	// Etcd is the address of the store's client API, if it is open on TCP. Default: plugins get none.
	Etcd string
	// Server is the address of the server's own API, so that the tend command in a plugin finds this server among others.
	// Default: plugins get none.
	Server string
	// Timeout bounds a call, HookTimeout a hook. Defaults 60 s and 10 min.
	Timeout, HookTimeout time.Duration
	// MaxStdout and MaxStderr bound the output of a call. Defaults 16 MiB and 1 MiB.
	MaxStdout, MaxStderr int64
	// Git is the program that clones. Default git.
	Git string
	// Environ returns the server's own environment. Plugins get a part of it. Default os.Environ.
	Environ func() []string
}

// Root is a folder of plugins. Safe for concurrent use.
type Root struct {
	opts Options
	// installing holds one element while a plugin is installed or removed: only one operation runs at a time.
	installing chan struct{}
	// swapping is held while one folder replaces another, so that a reader always finds one of them.
	swapping sync.RWMutex
	turns    *turns
}

// CallTime bounds a call from its request to its answer: it waits for its turn, runs, and is answered.
func (r *Root) CallTime() time.Duration { return 2*r.opts.Timeout + time.Minute }

// Open returns a Root, and finishes an installation that a crash interrupted. If only that fails, it returns the Root
// with the error.
func Open(opts Options) (*Root, error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the plugins: %w", err)
	}
	opts.Dir = dir
	if opts.Timeout <= 0 {
		opts.Timeout = time.Minute
	}
	if opts.HookTimeout <= 0 {
		opts.HookTimeout = 10 * time.Minute
	}
	if opts.MaxStdout <= 0 {
		opts.MaxStdout = 16 << 20
	}
	if opts.MaxStderr <= 0 {
		opts.MaxStderr = 1 << 20
	}
	opts.Git = cmp.Or(opts.Git, "git")
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	r := &Root{opts: opts, installing: make(chan struct{}, 1), turns: newTurns()}
	return r, r.settle()
}

// Plugin is an installed plugin.
type Plugin struct {
	Description
	// Dir is the plugin's folder; the folder's name is the plugin's first name.
	Dir string
	// Installed is the record of the installation; zero for a folder that was placed by hand.
	Installed Installed
	// Err is the reason why the plugin is broken. No program of such a plugin is run.
	Err error

	root     *Root
	commands map[string]program
}

// Folder returns the name of the plugin's folder.
func (p *Plugin) Folder() string { return filepath.Base(p.Dir) }

// List returns every plugin, sorted by the name of its folder, including broken ones.
func (r *Root) List() ([]*Plugin, error) {
	r.swapping.RLock()
	defer r.swapping.RUnlock()
	return r.list()
}

func (r *Root) list() ([]*Plugin, error) {
	entries, err := os.ReadDir(r.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the plugins: %w", err)
	}
	var out []*Plugin
	for _, entry := range entries {
		dir := filepath.Join(r.opts.Dir, entry.Name())
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		out = append(out, r.load(dir))
	}
	return out, nil
}

// Find finds a plugin by its folder's name, else by an alias.
func (r *Root) Find(name string) (*Plugin, error) {
	r.swapping.RLock()
	defer r.swapping.RUnlock()
	if dir := filepath.Join(r.opts.Dir, name); ValidName(name) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			p := r.load(dir)
			return p, p.Err
		}
	}
	all, err := r.list()
	if err != nil {
		return nil, err
	}
	var found []*Plugin
	for _, p := range all {
		if p.Err == nil && p.answersTo(name) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, missing(name, all)
	}
	return nil, &Error{Reason: Ambiguous,
		Detail: fmt.Sprintf("%s is an alias of %s", name, strings.Join(folders(found), " and of ")),
		Next:   "use the plugin's own name"}
}

func missing(name string, all []*Plugin) *Error {
	next := "install it with `tend plugins install SOURCE`; none is installed"
	if len(all) > 0 {
		next = "install it with `tend plugins install SOURCE`; installed are: " + strings.Join(folders(all), ", ")
	}
	return &Error{Reason: NotFound, Detail: fmt.Sprintf("no plugin is named %.100q", name), Next: next}
}

func folders(plugins []*Plugin) []string {
	names := make([]string, len(plugins))
	for i, p := range plugins {
		names[i] = p.Folder()
	}
	return names
}

// load reads a plugin from its folder. An error affects only this plugin.
func (r *Root) load(dir string) *Plugin {
	p := &Plugin{Dir: dir, root: r, Installed: installed(dir)}
	var err error
	if p.Description, err = describe(dir, filepath.Base(dir)); err == nil {
		p.commands, err = programs(dir, p.Description)
	}
	if err != nil {
		p.Name, p.Err = filepath.Base(dir), broken(filepath.Base(dir), err)
	}
	return p
}

// Offered returns the plugin's commands with their help, sorted.
func (p *Plugin) Offered() []Command {
	help := map[string]string{}
	for _, command := range p.Commands {
		help[command.Name] = command.Help
	}
	var out []Command
	for name := range p.commands {
		out = append(out, Command{Name: name, Help: help[name]})
	}
	slices.SortFunc(out, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Has reports whether the plugin has a command.
func (p *Plugin) Has(command string) bool { _, has := p.commands[command]; return has }
