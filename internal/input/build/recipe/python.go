package recipe

// python writes a Dockerfile that installs into the system's Python, with the tool that wrote the lock file, and runs
// as an unprivileged user.
func (d *dockerfile) python(c *contents, r Recipe) {
	d.base(c, "python:"+orVersion(r.Version, "3")+"-slim", "")
	d.add("ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1")
	d.debian("gcc", "libc6-dev", "libpq-dev") // to compile packages that have no wheel
	d.add("WORKDIR /app")
	lists, install := c.pythonInstall()
	if len(lists) > 0 {
		d.copy(r, "", lists...)
		d.add("RUN %s", install)
	}
	own := d.account()
	d.copy(r, own)
	if len(lists) == 0 && install != "" {
		d.add("RUN %s", install)
	}
	d.add("USER 10001")
	main := "main.py"
	if !c.has(main) && c.has("app.py") {
		main = "app.py"
	}
	d.command(c, []string{"python"}, "python", main)
}

// pythonInstall returns how dependencies are installed, and from which files: without any it needs the whole source.
func (c *contents) pythonInstall() (lists []string, command string) {
	lists, command = c.pythonLists()
	if c.needsSource() {
		return nil, command
	}
	return lists, command
}

func (c *contents) pythonLists() (lists []string, command string) {
	switch {
	case c.has("uv.lock") && c.has("pyproject.toml"):
		return []string{"pyproject.toml", "uv.lock"},
			"pip install uv && uv export --frozen --no-dev --no-emit-workspace -o /tmp/requirements.txt && pip install -r /tmp/requirements.txt"
	case c.has("poetry.lock") && c.has("pyproject.toml"):
		return []string{"pyproject.toml", "poetry.lock"},
			"pip install poetry && POETRY_VIRTUALENVS_CREATE=false poetry install --only main --no-root --no-interaction"
	case c.has("Pipfile.lock"):
		return c.those("Pipfile", "Pipfile.lock"), "pip install pipenv && pipenv install --system --deploy"
	case c.has("requirements.txt"):
		return []string{"requirements.txt"}, "pip install -r requirements.txt"
	case c.has("Pipfile"):
		return []string{"Pipfile"}, "pip install pipenv && pipenv install --system --skip-lock"
	case c.has("pyproject.toml"):
		return nil, "pip install ."
	}
	return nil, ""
}

// needsSource reports whether the dependencies lie in the tree, or are listed in further files of it.
func (c *contents) needsSource() bool {
	return c.names([]string{"requirements.txt"}, "-r ", "-c ", "-e ", "--requirement", "--constraint",
		"--editable", "file:", "./") ||
		c.names([]string{"pyproject.toml", "Pipfile"}, "[tool.uv.workspace]", "path =", "path=")
}
