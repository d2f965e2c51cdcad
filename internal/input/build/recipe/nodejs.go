package recipe

import (
	"slices"
	"strings"
)

// manager returns the package manager of a Node.js project and its lock file.
func (c *contents) manager() (name, lock string) {
	locks := []struct{ name, lock string }{
		{"bun", "bun.lock"}, {"bun", "bun.lockb"}, {"pnpm", "pnpm-lock.yaml"}, {"yarn", "yarn.lock"},
		{"npm", "package-lock.json"},
		{"npm", "npm-shrinkwrap.json"},
	}
	declared, _, _ := strings.Cut(c.packageJSON().PackageManager, "@")
	if c.lang.Name == "bun" {
		declared = "bun"
	}
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

// settings are the files besides package.json that an install reads.
var settings = []string{".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnpmfile.cjs", "pnpm-workspace.yaml",
	"bunfig.toml", "patches"}

// nodejs writes a Dockerfile that runs as the base image's user. It installs development dependencies too, because the
// build tools are among them.
func (d *dockerfile) nodejs(c *contents, r Recipe) {
	manager, lock := c.manager()
	run, project := "node", c.packageJSON()
	if manager == "bun" {
		run = "bun"
		d.base(c, "oven/bun:"+orVersion(r.Version, "1"), "")
	} else {
		d.base(c, "node:"+orVersion(r.Version, "lts")+"-alpine", "")
	}
	d.add("WORKDIR /app")
	if manager == "pnpm" || manager == "yarn" {
		d.add("ENV COREPACK_HOME=/opt/corepack COREPACK_ENABLE_DOWNLOAD_PROMPT=0")
		d.add("RUN npm install --global corepack && corepack enable && mkdir -p /opt/corepack && chown %s /app /opt/corepack",
			run)
	} else {
		d.add("RUN chown %s /app", run)
	}
	d.add("USER %s", run)
	d.add("ENV NODE_ENV=production")
	own := "--chown=" + run + ":" + run
	if c.has("package.json") && !c.installsFromSource(project) {
		names := append([]string{"package.json"}, c.those(lock)...)
		for _, name := range c.those(settings...) {
			if isFile(c.FS, name) { // COPY takes of a folder what is in it
				names = append(names, name)
			}
		}
		d.copy(r, own, names...)
		d.add("RUN %s", c.install(manager, lock))
		d.copy(r, own)
	} else {
		d.copy(r, own)
		if c.has("package.json") {
			d.add("RUN %s", c.install(manager, lock))
		}
	}
	if project.Scripts["build"] != "" {
		d.add("RUN %s run build", manager)
	}
	usual := []string{run, orVersion(project.Main, "index.js")}
	if project.Scripts["start"] != "" {
		usual = []string{manager, "run", "start"}
	}
	d.command(c, []string{run}, usual...)
}

// installsFromSource reports whether an install needs more of the tree than the dependency lists: packages in the tree,
// scripts, releases of the package manager, patches.
func (c *contents) installsFromSource(project packageJSON) bool {
	for _, script := range []string{"preinstall", "install", "postinstall", "prepare"} {
		if project.Scripts[script] != "" {
			return true
		}
	}
	return len(project.Workspaces) > 0 || len(c.those("pnpm-workspace.yaml", ".yarn", "patches")) > 0 ||
		c.names([]string{"package.json"}, `"file:`, `"link:`, `"portal:`)
}

func (c *contents) install(manager, lock string) string {
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
	case c.yarnIsClassic() && lock != "":
		return "yarn install --frozen-lockfile --production=false"
	case c.yarnIsClassic():
		return "yarn install --production=false"
	case lock != "":
		return "yarn install --immutable"
	}
	return "yarn install"
}

// yarnIsClassic reports whether the tree uses Yarn 1, whose options differ from those of later versions.
func (c *contents) yarnIsClassic() bool {
	if declared := c.packageJSON().PackageManager; declared != "" {
		return strings.HasPrefix(declared, "yarn@1.")
	}
	return !c.has(".yarnrc.yml")
}
