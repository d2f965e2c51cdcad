package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// Procfile is the name of the file that lists an application's processes, one per line: `web: bin/serve`.
const Procfile = "Procfile"

// firstPort is the PORT of a Procfile's first process. The following processes count up from it.
const firstPort = 5000

// maxProcesses bounds a Procfile.
const maxProcesses = 200

// process is a line of a Procfile.
type process struct {
	kind, command string
	at, commandAt span
}

var processType = pattern.Lazy(`^[A-Za-z][A-Za-z0-9_-]*$`)

// parseProcfile parses the lines. It skips blank lines and comments (#).
func parseProcfile(src *source, f *faults) []process {
	var out []process
	before := f.count()
	seen := map[string]int{}
	for i, start := range src.lines {
		line, _, _ := bytes.Cut(src.text[start:], []byte("\n"))
		text := strings.TrimSpace(strings.TrimPrefix(string(line), "\uFEFF"))
		if text == "" || text[0] == '#' {
			continue
		}
		at := span{start, start + len(bytes.TrimRight(line, "\r"))}
		kind, command, found := strings.Cut(text, ":")
		kind, command = strings.TrimSpace(kind), strings.TrimSpace(command)
		lower := processName(kind)
		switch first, twice := seen[lower]; {
		case !utf8.Valid(line):
			f.at(src, at, "write the file as UTF-8", "the line is not UTF-8 text")
		case !found || !processType().MatchString(kind):
			f.at(src, at, "a type begins with a letter and holds letters, digits, _ and -", "the line is not TYPE: COMMAND")
		case command == "":
			f.at(src, at, "", "%s has no command", kind)
		case twice:
			f.at(src, at, "keep one of them", "%s is declared twice, first in line %d", kind, first)
		default:
			behind := start + bytes.LastIndex(line, []byte(command))
			out = append(out, process{kind: lower, command: command, at: at, commandAt: span{behind, behind + len(command)}})
		}
		seen[lower] = i + 1
	}
	switch {
	case len(out) == 0 && f.count() == before:
		f.at(src, span{}, "write a line such as web: bin/serve", "the Procfile lists no process")
	case len(out) > maxProcesses:
		f.at(src, out[maxProcesses].at, "", "the Procfile lists more than %d processes", maxProcesses)
	}
	return out
}

// processName returns the object name for a process's type.
func processName(kind string) string {
	return strings.TrimRight(strings.ReplaceAll(strings.ToLower(kind), "_", "-"), "-")
}

// procfileDrafts returns the objects of a Procfile: a deployment for each process, with the release command in the
// first, for which the others wait, and an ingress for each process that app.json names.
func procfileDrafts(src *source, o procfileOptions, f *faults) []*draft {
	before := f.count()
	processes := parseProcfile(src, f)
	if f.count() > before {
		return nil
	}
	var release *process
	var out []*draft
	pinned := o.app.pinned()
	port := firstPort
	for i, p := range processes {
		if p.kind == "release" {
			release = &processes[i]
			continue
		}
		own, fixed := pinned[p.kind]
		if !fixed {
			own = port
			port++
		}
		out = append(out, processDraft(src, o, p, own))
	}
	if release != nil && len(out) == 0 {
		f.at(src, release.at, "add a process, such as web: bin/serve",
			"no other process has a release that the command could precede")
		return nil
	}
	if release != nil {
		out[0].spec["release"] = map[string]any{"command": shell(release.command)}
		out[0].places["release"], out[0].places["release.command"] = release.at, release.commandAt
		await(out[1:], out[0], release.at)
	}
	return append(out, o.app.ingresses(src, o.scope, out, f)...)
}

// processDraft returns the deployment of one process.
func processDraft(src *source, o procfileOptions, p process, port int) *draft {
	text := strconv.Itoa(port)
	d := &draft{
		src: src, at: p.at, places: map[string]span{"command": p.commandAt, "name": p.at},
		object: api.Object{Kind: api.KindDeployment, Scope: o.scope, Name: p.kind},
		spec: map[string]any{
			"command": shell(p.command), "replicas": json.Number("1"), "restart": "on-failure",
			"env": map[string]any{"PORT": text}, "ports": []any{text},
		},
	}
	if o.image != "" {
		d.spec["image"] = o.image
		return d
	}
	d.spec["build"] = map[string]any{} // from the Procfile's own folder
	return d
}

// await delays the releases of the other processes until the one with the release command is rolled out: before that
// none may be replaced.
func await(processes []*draft, first *draft, at span) {
	for _, d := range processes {
		d.spec["depends_on"] = map[string]any{"workloads": []any{"deployment/" + first.object.Name}}
		d.places["depends_on"], d.places["depends_on.workloads"] = at, at
	}
}

func shell(command string) []any { return []any{"/bin/sh", "-c", command} }

// procfileOptions are the settings that a Procfile can't hold. Without an image, its processes are built from its
// folder.
type procfileOptions struct {
	scope, image string
	app          appFile
}

// ScopeOf derives a scope from a folder's name. The same folder always gives the same scope, so an application keeps
// it.
func ScopeOf(folder string) (string, error) {
	text := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, folder)
	if len(text) > api.MaxNameBytes {
		text = text[:api.MaxNameBytes]
	}
	if text = strings.Trim(text, "-"); text == "" {
		return "", fmt.Errorf("the folder's name %q makes no scope: name one with --app", folder)
	}
	return text, nil
}
