package recipe

import (
	"encoding/json"
	"io"
	"io/fs"
	"path"
	"strings"

	"tend.dev/tend/api"
)

// contents is the source folder, with the manifest's settings for the build.
type contents struct {
	fs.FS
	build api.Build
	lang  api.BuildLang
	// registry is put before the names of base images.
	registry string
}

// maxRead bounds how much of a file is searched.
const maxRead = 1 << 20

func (c *contents) has(name string) bool { return isFile(c.FS, name) }

// those returns those of the names that exist, as files or folders.
func (c *contents) those(names ...string) (out []string) {
	for _, name := range names {
		if _, err := fs.Stat(c.FS, name); err == nil {
			out = append(out, name)
		}
	}
	return out
}

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

// names reports whether one of the files contains one of the words.
func (c *contents) names(files []string, words ...string) bool {
	for _, file := range files {
		text := strings.ToLower(c.text(file))
		for _, word := range words {
			if strings.Contains(text, word) {
				return true
			}
		}
	}
	return false
}

// packageJSON holds the relevant fields of a package.json.
type packageJSON struct {
	Main           string            `json:"main"`
	PackageManager string            `json:"packageManager"`
	Scripts        map[string]string `json:"scripts"`
	Workspaces     json.RawMessage   `json:"workspaces"`
	Engines        struct {
		Node string `json:"node"`
	} `json:"engines"`
}

func (c *contents) packageJSON() packageJSON {
	var out packageJSON
	if json.Unmarshal([]byte(c.text("package.json")), &out) != nil {
		return packageJSON{} // the build reports the syntax error
	}
	return out
}

// web returns the command of a Procfile's web process, or "".
func (c *contents) web() string {
	for line := range strings.Lines(c.text("Procfile")) {
		kind, command, found := strings.Cut(strings.TrimSpace(line), ":")
		if found && strings.EqualFold(strings.TrimSpace(kind), "web") {
			return strings.TrimSpace(command)
		}
	}
	return ""
}

// below returns a path in the source's folder, seen from the top of the tree.
func below(r Recipe, name string) string { return path.Join(r.Folder, name) }
