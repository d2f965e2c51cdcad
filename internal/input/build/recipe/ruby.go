package recipe

import "strings"

// gems returns the files a bundle is installed from.
func (c *contents) gems() []string { return c.those("Gemfile", "Gemfile.lock") }

// locked reports whether the bundle names one of the gems.
func (c *contents) locked(gems ...string) bool { return c.names(c.gems(), gems...) }

// gemLibraries returns the system packages that the gems are compiled with, and those that they run with.
func (c *contents) gemLibraries() (build, run []string) {
	build, run = []string{"build-essential", "git", "libpq-dev", "libyaml-dev", "pkg-config"},
		[]string{"libpq5", "libyaml-0-2"}
	if c.locked("mysql2", "trilogy") {
		build, run = append(build, "default-libmysqlclient-dev"), append(run, "libmariadb3")
	}
	if c.locked("ruby-vips", "image_processing") {
		run = append(run, "libvips42")
	}
	return build, run
}

func (d *dockerfile) ruby(c *contents, r Recipe) {
	d.base(c, "ruby:"+orVersion(r.Version, "3")+"-slim", "")
	d.add("ENV RACK_ENV=production APP_ENV=production BUNDLE_WITHOUT=development:test")
	libraries, _ := c.gemLibraries()
	d.debian(libraries...)
	d.add("WORKDIR /app")
	if c.has("Gemfile") {
		d.copy(r, "", c.gems()...)
		d.add("RUN %s", c.bundle())
	}
	own := d.account()
	d.copy(r, own)
	d.add("USER 10001")
	usual := []string{"bundle", "exec", "ruby", "app.rb"}
	switch rack := c.has("config.ru"); {
	case rack && c.locked("puma"):
		usual = []string{"bundle", "exec", "puma", "-b", "tcp://0.0.0.0:9292"}
	case rack && !c.has("app.rb"):
		usual = []string{"bundle", "exec", "rackup", "--host", "0.0.0.0"}
	}
	d.command(c, []string{"bundle", "exec", "ruby"}, usual...)
}

// bundle installs exactly the locked versions, if there is a lock file.
func (c *contents) bundle() string {
	if c.has("Gemfile.lock") {
		return "BUNDLE_FROZEN=1 bundle install"
	}
	return "bundle install"
}

// railsEnv: without the last two, Rails before 7.1 writes its log into a file and serves no assets.
const railsEnv = "ENV RAILS_ENV=production BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test " +
	"RAILS_LOG_TO_STDOUT=1 RAILS_SERVE_STATIC_FILES=1"

func (d *dockerfile) rails(c *contents, r Recipe) {
	image := "ruby:" + orVersion(r.Version, "3") + "-slim"
	build, run := c.gemLibraries()
	d.base(c, image, "build")
	yarn := c.has("yarn.lock")
	if c.has("package.json") {
		build = append(build, "nodejs", "npm")
	}
	d.debian(build...)
	if yarn {
		d.add("RUN npm install --global yarn")
	}
	d.add("WORKDIR /app")
	d.add(railsEnv)
	d.copy(r, "", c.gems()...)
	d.add("RUN %s", c.bundle())
	if packages := c.those("package.json", "yarn.lock", "package-lock.json"); c.has("package.json") {
		d.copy(r, "", packages...)
		d.add("RUN %s install", map[bool]string{true: "yarn", false: "npm"}[yarn])
	}
	d.copy(r, "")
	if c.hasAssets() {
		d.add("RUN SECRET_KEY_BASE_DUMMY=1 SECRET_KEY_BASE=unused bundle exec rails assets:precompile")
	}
	d.add("")
	d.base(c, image, "")
	d.debian(run...)
	d.add("WORKDIR /app")
	d.add(railsEnv)
	d.add("COPY --from=build /usr/local/bundle /usr/local/bundle")
	d.add("COPY --from=build /app /app")
	d.add("RUN useradd --system --create-home rails && mkdir -p db log storage tmp && chown -R rails db log storage tmp")
	d.add("USER rails")
	d.add("EXPOSE 3000")
	d.command(c, []string{"bundle", "exec"}, "bundle", "exec", "puma", "-p", "3000")
}

// hasAssets reports whether there are assets to precompile: an API-only application has no such task.
func (c *contents) hasAssets() bool {
	return !c.has("Gemfile.lock") && !strings.Contains(c.text("config/application.rb"), "api_only = true") ||
		c.locked("sprockets", "propshaft", "webpacker", "shakapacker", "vite_rails", "vite_ruby")
}
