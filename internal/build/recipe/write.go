package recipe

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// dockerfile is one that is being written: for the engine's classic builder, which has no cache mounts.
type dockerfile struct{ lines []string }

func (d *dockerfile) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

// argv is a command in the form that runs no shell.
func argv(words ...string) string {
	out, _ := json.Marshal(words) // texts alone: never fails
	return string(out)
}

// write is the Dockerfile of a recipe.
func write(c *contents, r Recipe) string {
	d := &dockerfile{}
	d.add("# Written by Tend: %s.", strings.TrimSuffix(r.Why, "."))
	switch r.Language {
	case Go:
		d.golang(c, r)
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

// base begins a stage; build arguments are known in it.
func (d *dockerfile) base(c *contents, image, stage string) {
	if stage != "" {
		stage = " AS " + stage
	}
	d.add("FROM %s%s%s", c.registry, image, stage)
	for _, name := range slices.Sorted(maps.Keys(c.build.Args)) {
		d.add("ARG %s", name)
	}
}

// from is what of the tree is copied: its folder.
func from(r Recipe, names ...string) string {
	var out []string
	for _, name := range names {
		out = append(out, path.Join(r.Folder, name))
	}
	if len(names) == 0 {
		out = []string{r.Folder}
	}
	return strings.Join(out, " ")
}

func orVersion(version, fallback string) string {
	if version == "" {
		return fallback
	}
	return version
}

// command is the CMD: the declared entrypoint, a file of the language or a line for the shell, else what is usual.
func (d *dockerfile) command(c *contents, interpreter []string, usual ...string) {
	switch entry := c.lang.Entrypoint; {
	case entry == "":
		d.add("CMD %s", argv(usual...))
	case strings.ContainsAny(entry, " \t|&;<>$"):
		d.add("CMD %s", argv("/bin/sh", "-c", entry))
	default:
		d.add("CMD %s", argv(append(slices.Clone(interpreter), entry)...))
	}
}

func (d *dockerfile) golang(c *contents, r Recipe) {
	d.base(c, "golang:"+orVersion(r.Version, "1")+"-alpine", "build")
	d.add("WORKDIR /src")
	if modules := []string{"go.mod"}; !c.vendored() {
		if c.has("go.sum") {
			modules = append(modules, "go.sum")
		}
		d.add("COPY %s ./", from(r, modules...))
		d.add("RUN go mod download")
	}
	d.add("COPY %s .", from(r))
	target := "."
	if cleaned := path.Clean("/" + c.build.Path); cleaned != "/" {
		target = "." + cleaned
	}
	d.add("RUN CGO_ENABLED=0 go build -trimpath -o /out/app %s", target)
	d.add("")
	d.base(c, "alpine:3", "")
	d.add("RUN apk add --no-cache ca-certificates tzdata")
	d.add("COPY --from=build /out/app /app")
	d.add("USER nobody")
	d.add("ENTRYPOINT %s", argv("/app"))
}

func (c *contents) vendored() bool { return c.has("vendor/modules.txt") }

// manager is how a Node.js project's dependencies are installed.
func (c *contents) manager() (name, lock string) {
	locks := []struct{ name, lock string }{
		{"bun", "bun.lock"}, {"bun", "bun.lockb"}, {"pnpm", "pnpm-lock.yaml"}, {"yarn", "yarn.lock"}, {"npm", "package-lock.json"},
	}
	declared, _, _ := strings.Cut(c.packageJSON().PackageManager, "@")
	for _, l := range locks {
		if c.has(l.lock) && (declared == "" || declared == l.name) {
			return l.name, l.lock
		}
	}
	if slices.Contains([]string{"bun", "pnpm", "yarn"}, declared) {
		return declared, ""
	}
	return "npm", ""
}

func (d *dockerfile) nodejs(c *contents, r Recipe) {
	manager, lock := c.manager()
	run := "node"
	if manager == "bun" {
		run = "bun"
		d.base(c, "oven/bun:1", "")
	} else {
		d.base(c, "node:"+orVersion(r.Version, "lts")+"-alpine", "")
	}
	d.add("ENV NODE_ENV=production")
	d.add("WORKDIR /app")
	if manager == "pnpm" || manager == "yarn" {
		d.add("RUN corepack enable")
	}
	if c.has("package.json") {
		names := []string{"package.json"}
		if lock != "" {
			names = append(names, lock)
		}
		d.add("COPY %s ./", from(r, names...))
		d.add("RUN %s", install(manager, lock))
	}
	d.add("COPY %s .", from(r))
	project := c.packageJSON()
	if project.Scripts["build"] != "" {
		d.add("RUN %s run build", manager)
	}
	usual := []string{run, orVersion(project.Main, "index.js")}
	if project.Scripts["start"] != "" {
		usual = []string{manager, "start"}
		if manager == "bun" {
			usual = []string{"bun", "run", "start"}
		}
	}
	d.command(c, []string{run}, usual...)
}

// install takes development dependencies too: what builds the project is among them.
func install(manager, lock string) string {
	switch {
	case manager == "npm" && lock != "":
		return "npm ci --include=dev"
	case manager == "npm":
		return "npm install --include=dev"
	case manager == "bun" && lock != "":
		return "bun install --frozen-lockfile"
	case manager == "bun":
		return "bun install"
	case manager == "pnpm" && lock != "":
		return "pnpm install --frozen-lockfile --prod=false"
	case manager == "pnpm":
		return "pnpm install --prod=false"
	}
	return "yarn install --production=false"
}

func (d *dockerfile) python(c *contents, r Recipe) {
	d.base(c, "python:"+orVersion(r.Version, "3")+"-slim", "")
	d.add("ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1")
	d.add("WORKDIR /app")
	switch {
	case c.has("requirements.txt"):
		d.add("COPY %s ./", from(r, "requirements.txt"))
		d.add("RUN pip install -r requirements.txt")
		d.add("COPY %s .", from(r))
	default:
		d.add("COPY %s .", from(r))
		if c.has("pyproject.toml") {
			d.add("RUN pip install .")
		}
	}
	main := "main.py"
	if !c.has(main) && c.has("app.py") {
		main = "app.py"
	}
	d.command(c, []string{"python"}, "python", main)
}

func (c *contents) gems() []string {
	if c.has("Gemfile.lock") {
		return []string{"Gemfile", "Gemfile.lock"}
	}
	return []string{"Gemfile"}
}

func (d *dockerfile) ruby(c *contents, r Recipe) {
	d.base(c, "ruby:"+orVersion(r.Version, "3")+"-slim", "")
	d.add("RUN apt-get update && apt-get install -y --no-install-recommends build-essential && rm -rf /var/lib/apt/lists/*")
	d.add("WORKDIR /app")
	if c.has("Gemfile") {
		d.add("COPY %s ./", from(r, c.gems()...))
		d.add("RUN bundle config set --local without 'development test' && bundle install")
	}
	d.add("COPY %s .", from(r))
	usual := []string{"bundle", "exec", "ruby", "app.rb"}
	if c.has("config.ru") && !c.has("app.rb") {
		usual = []string{"bundle", "exec", "rackup", "--host", "0.0.0.0"}
	}
	d.command(c, []string{"bundle", "exec", "ruby"}, usual...)
}

func (d *dockerfile) rails(c *contents, r Recipe) {
	image := "ruby:" + orVersion(r.Version, "3") + "-slim"
	d.base(c, image, "build")
	d.add("RUN apt-get update && apt-get install -y --no-install-recommends build-essential git libpq-dev libyaml-dev pkg-config && rm -rf /var/lib/apt/lists/*")
	d.add("WORKDIR /app")
	d.add("ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test")
	d.add("COPY %s ./", from(r, c.gems()...))
	d.add("RUN bundle install")
	d.add("COPY %s .", from(r))
	if c.has("bin/rails") {
		d.add("RUN SECRET_KEY_BASE_DUMMY=1 ./bin/rails assets:precompile")
	}
	d.add("")
	d.base(c, image, "")
	d.add("RUN apt-get update && apt-get install -y --no-install-recommends libpq5 libyaml-0-2 && rm -rf /var/lib/apt/lists/*")
	d.add("WORKDIR /app")
	d.add("ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test")
	d.add("COPY --from=build /usr/local/bundle /usr/local/bundle")
	d.add("COPY --from=build /app /app")
	d.add("RUN useradd --system rails && chown -R rails db log storage tmp 2>/dev/null || true")
	d.add("USER rails")
	d.add("EXPOSE 3000")
	d.command(c, []string{"bundle", "exec"}, "bundle", "exec", "puma", "-p", "3000")
}
