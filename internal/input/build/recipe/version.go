package recipe

import (
	"regexp"
	"strings"

	"tend.dev/tend/api/pattern"
)

// The patterns of versions in the files of a tree. They don't match anything but a plain version (no ranges, no
// aliases).
var (
	goDirective   = pattern.Lazy(`(?m)^go\s+(\d+\.\d+)`)
	goToolchain   = pattern.Lazy(`(?m)^toolchain\s+go(\d+\.\d+)`)
	plainVersion  = pattern.Lazy(`^v?(\d+(?:\.\d+){0,2})$`)
	leastVersion  = pattern.Lazy(`^(?:>=|\^|~|=)?\s*v?(\d+)(?:[.\s]|$)`)
	nodeAlias     = pattern.Lazy(`^lts/([a-z]+)$`)
	bunPackage    = pattern.Lazy(`^bun@(\d+(?:\.\d+){0,2})`)
	pythonRuntime = pattern.Lazy(`(?m)^python-(\d+(?:\.\d+){0,2})\s*$`)
	pythonNeeds   = pattern.Lazy(`(?m)^(?:requires-python|python|python_version)\s*=\s*["'](?:>=|~=|==|\^|~)?\s*(\d+\.\d+)`)
	rubyOfGemfile = pattern.Lazy(`(?m)^\s*ruby\s+["'](?:~>|>=|=)?\s*(\d+(?:\.\d+){0,2})["']`)
	rubyOfLock    = pattern.Lazy(`(?m)^RUBY VERSION\r?\n\s+ruby (\d+\.\d+\.\d+)`)
)

// toolVersions are the names of the languages in .tool-versions.
var toolVersions = map[string]string{Go: "golang", NodeJS: "nodejs", Python: "python", Ruby: "ruby", Rails: "ruby"}

// version returns the version of the language that the tree names, or "".
func (c *contents) version(language string) string {
	if found := c.ownVersion(language); found != "" {
		return found
	}
	for line := range strings.Lines(c.text(".tool-versions")) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == toolVersions[language] {
			return first(plainVersion, words[1])
		}
	}
	return ""
}

// ownVersion returns the version that the language's own files name.
func (c *contents) ownVersion(language string) string {
	switch language {
	case Go:
		// The toolchain is at least as new as the language.
		return either(first(goToolchain, c.text("go.mod")), first(goDirective, c.text("go.mod")))
	case NodeJS:
		return c.nodeVersion()
	case Python:
		return either(first(plainVersion, c.line(".python-version")), first(pythonRuntime, c.text("runtime.txt")),
			first(pythonNeeds, c.text("pyproject.toml")), first(pythonNeeds, c.text("Pipfile")))
	case Ruby, Rails:
		return either(first(plainVersion, strings.TrimPrefix(c.line(".ruby-version"), "ruby-")),
			first(rubyOfLock, c.text("Gemfile.lock")), first(rubyOfGemfile, c.text("Gemfile")))
	}
	return ""
}

func (c *contents) nodeVersion() string {
	project := c.packageJSON()
	if manager, _ := c.manager(); manager == "bun" {
		return either(first(bunPackage, project.PackageManager), first(plainVersion, c.line(".bun-version")))
	}
	for _, name := range []string{".nvmrc", ".node-version"} {
		text := c.line(name)
		if found := either(first(plainVersion, text), first(nodeAlias, text)); found != "" {
			return found
		}
	}
	return first(leastVersion, project.Engines.Node)
}

// line returns the first line of a file.
func (c *contents) line(name string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(c.text(name)), "\n")
	return strings.TrimSpace(text)
}

// either returns the first text that isn't empty.
func either(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func first(form func() *regexp.Regexp, text string) string {
	if match := form().FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}
