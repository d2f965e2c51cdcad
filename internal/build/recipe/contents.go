package recipe

import (
	"encoding/json"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"tend.dev/tend/api"
)

// contents is the source in its folder, with what the manifest says of the build.
type contents struct {
	fs.FS
	build api.Build
	lang  api.BuildLang
	// registry is put before the names of base images.
	registry string
}

// maxRead bounds what is read of a file to find a version in it.
const maxRead = 1 << 20

func (c *contents) has(name string) bool { return isFile(c.FS, name) }

func (c *contents) text(name string) string {
	file, err := c.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxRead))
	if err != nil {
		return ""
	}
	return string(data)
}

// The forms of versions in the files of a tree. What isn't a plain version (a range, an alias) is not taken.
var (
	goDirective   = regexp.MustCompile(`(?m)^go\s+(\d+\.\d+)`)
	plainVersion  = regexp.MustCompile(`^v?(\d+(?:\.\d+){0,2})$`)
	leastVersion  = regexp.MustCompile(`^(?:>=|\^|~|=)?\s*v?(\d+)(?:[.\s]|$)`)
	pythonRuntime = regexp.MustCompile(`(?m)^python-(\d+(?:\.\d+){0,2})\s*$`)
	pythonNeeds   = regexp.MustCompile(`(?m)^requires-python\s*=\s*["'](?:>=|~=|==|\^)?\s*(\d+\.\d+)`)
	rubyOfGemfile = regexp.MustCompile(`(?m)^\s*ruby\s+["'](\d+(?:\.\d+){0,2})["']`)
)

// version is what the tree says of its language's version; empty where it says nothing.
func (c *contents) version(language string) string {
	switch language {
	case Go:
		return first(goDirective, c.text("go.mod"))
	case NodeJS:
		for _, name := range []string{".nvmrc", ".node-version"} {
			if found := first(plainVersion, strings.TrimSpace(c.text(name))); found != "" {
				return found
			}
		}
		return first(leastVersion, c.packageJSON().Engines.Node)
	case Python:
		if found := first(plainVersion, strings.TrimSpace(c.text(".python-version"))); found != "" {
			return found
		}
		if found := first(pythonRuntime, c.text("runtime.txt")); found != "" {
			return found
		}
		return first(pythonNeeds, c.text("pyproject.toml"))
	case Ruby, Rails:
		text := strings.TrimPrefix(strings.TrimSpace(c.text(".ruby-version")), "ruby-")
		if found := first(plainVersion, text); found != "" {
			return found
		}
		return first(rubyOfGemfile, c.text("Gemfile"))
	}
	return ""
}

func first(pattern *regexp.Regexp, text string) string {
	if match := pattern.FindStringSubmatch(text); match != nil {
		return match[1]
	}
	return ""
}

// packageJSON is what counts of a package.json.
type packageJSON struct {
	Main           string            `json:"main"`
	PackageManager string            `json:"packageManager"`
	Scripts        map[string]string `json:"scripts"`
	Engines        struct {
		Node string `json:"node"`
	} `json:"engines"`
}

func (c *contents) packageJSON() packageJSON {
	var out packageJSON
	if json.Unmarshal([]byte(c.text("package.json")), &out) != nil {
		return packageJSON{} // the build will say what is wrong with it
	}
	return out
}
