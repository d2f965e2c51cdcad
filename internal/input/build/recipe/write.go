package recipe

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

// dockerfile is a generated Dockerfile. It works with either builder, so it has no cache mounts. Lines that seldom
// change come first, so a changed source file doesn't install the dependencies again.
type dockerfile struct{ lines []string }

func (d *dockerfile) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// argv returns a command in the form that runs no shell.
func argv(words ...string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(words) // texts alone: never fails
	return strings.TrimSpace(out.String())
}

// write returns the Dockerfile of a recipe.
func write(c *contents, tree fs.FS, r Recipe) string {
	d := &dockerfile{}
	d.add("# Written by Tend: %s.", oneLine(strings.TrimSuffix(r.Why, ".")))
	switch r.Language {
	case Go:
		d.golang(c, tree, r)
	case NodeJS:
		d.nodejs(c, r)
	case Python:
		d.python(c, r)
	case Rails:
		d.rails(c, r)
	case Ruby:
		d.ruby(c, r)
	}
	return strings.Join(d.lines, "\n") + "\n"
}

// oneLine replaces control characters, so a file name can't add an instruction.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, text)
}

// base begins a stage, with the build arguments declared in it.
func (d *dockerfile) base(c *contents, image, stage string) {
	if stage != "" {
		stage = " AS " + stage
	}
	d.add("FROM %s%s%s", c.registry, image, stage)
	for _, name := range slices.Sorted(maps.Keys(c.build.Args)) {
		d.add("ARG %s", name)
	}
}

var plainPath = pattern.Lazy(`^[\w./@+-]+$`)

// copy copies names of the source's folder into the working directory; without names it copies everything. flags
// precede them.
func (d *dockerfile) copy(r Recipe, flags string, names ...string) {
	sources, to := []string{r.Folder}, "."
	if len(names) > 0 {
		sources, to = nil, "./"
	}
	for _, name := range names {
		sources = append(sources, below(r, name))
	}
	if flags != "" {
		flags += " "
	}
	plain := !slices.ContainsFunc(sources, func(name string) bool { return !plainPath().MatchString(name) })
	if plain {
		d.add("COPY %s%s %s", flags, strings.Join(sources, " "), to)
		return
	}
	for i, name := range sources {
		sources[i] = literally.Replace(name)
	}
	d.add("COPY %s%s", flags, argv(append(sources, to)...))
}

// literally escapes a name for COPY, so that it is neither a pattern nor a variable.
var literally = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "$", `\$`)

// quoted returns a word for the shell.
func quoted(word string) string {
	if plainPath().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func orVersion(version, fallback string) string { return either(version, fallback) }

// command writes the CMD: the declared entrypoint (a file of the language or a shell command), else the web process of
// a Procfile, else the language's usual command.
func (d *dockerfile) command(c *contents, interpreter []string, usual ...string) {
	entry := c.lang.Entrypoint
	switch web := c.web(); {
	case entry == "" && web != "":
		d.add("CMD %s", argv("/bin/sh", "-c", web))
	case entry == "":
		d.add("CMD %s", argv(usual...))
	case strings.ContainsAny(entry, " \t|&;<>$"):
		d.add("CMD %s", argv("/bin/sh", "-c", entry))
	default:
		d.add("CMD %s", argv(append(slices.Clone(interpreter), entry)...))
	}
}

// debian installs Debian packages.
func (d *dockerfile) debian(packages ...string) {
	d.add("RUN apt-get update && apt-get install -y --no-install-recommends %s && rm -rf /var/lib/apt/lists/*",
		strings.Join(packages, " "))
}

// account creates a user that owns only the working directory. COPY names the user by number, which needs no look-up.
func (d *dockerfile) account() (flags string) {
	d.add("RUN useradd --system --create-home --uid 10001 app && chown app /app")
	return "--chown=10001"
}
