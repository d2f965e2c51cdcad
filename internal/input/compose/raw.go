package compose

import (
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a Compose file, maxDepth how deeply files include and extend each other.
const (
	maxFile  = 16 << 20
	maxDepth = 16
)

// piece is a part of a file, and where it belongs in the project: the whole file at "", or an extended service.
type piece struct {
	file string
	path string
	node *yaml.Node
}

// readRaw reads the files as they are written, with the files on this machine that they include and extend.
func readRaw(files []string) ([]piece, error) {
	c := &collector{seen: map[string]bool{}}
	for _, file := range files {
		if err := c.file(file, 0); err != nil {
			return nil, err
		}
	}
	return c.pieces, nil
}

// collector collects the raw texts of the project's files, each once.
type collector struct {
	pieces []piece
	seen   map[string]bool
}

func (c *collector) file(path string, depth int) error {
	root, err := parse(path)
	if err != nil || root == nil || c.seen[path] || depth > maxDepth {
		return err
	}
	c.seen[path] = true
	c.pieces = append(c.pieces, piece{file: path, node: root})
	for _, entry := range includes(find(root, "include")) {
		if err := c.file(beside(path, entry), depth+1); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	for _, section := range []string{"services", "jobs"} {
		services := find(root, section)
		for i := 0; services != nil && i+1 < len(services.Content); i += 2 {
			c.extended(path, join(section, services.Content[i].Value), section, resolved(services.Content[i+1]), depth)
		}
	}
	return nil
}

// extended adds the service of another file that a service extends. It skips a file or service it can't read:
// compose-go reports that already.
func (c *collector) extended(path, at, section string, service *yaml.Node, depth int) {
	extends := find(service, "extends")
	if extends == nil || extends.Kind != yaml.MappingNode || depth > maxDepth {
		return
	}
	file, name := find(extends, "file"), find(extends, "service")
	if file == nil || name == nil {
		return
	}
	other := beside(path, file.Value)
	key := other + "\x00" + name.Value + "\x00" + at
	root, err := parse(other)
	if err != nil || root == nil || c.seen[key] {
		return
	}
	c.seen[key] = true
	if base := find(find(root, section), name.Value); base != nil {
		c.pieces = append(c.pieces, piece{file: other, path: at, node: base})
		c.extended(other, at, section, base, depth+1)
	}
}

func parse(path string) (*yaml.Node, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	return resolved(document.Content[0]), nil
}

// includes returns the file names of an include, in each of its forms.
func includes(n *yaml.Node) []string {
	var out []string
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, item := range n.Content {
		item = resolved(item)
		if item.Kind == yaml.MappingNode {
			item = find(item, "path")
		}
		switch {
		case item == nil:
		case item.Kind == yaml.ScalarNode:
			out = append(out, item.Value)
		case item.Kind == yaml.SequenceNode:
			for _, path := range item.Content {
				out = append(out, resolved(path).Value)
			}
		}
	}
	return out
}

func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// resolved follows aliases.
func resolved(n *yaml.Node) *yaml.Node {
	for i := 0; n != nil && n.Kind == yaml.AliasNode && i < maxDepth; i++ {
		n = n.Alias
	}
	return n
}

// find returns the value under a key of a mapping, or nil.
func find(n *yaml.Node, key string) *yaml.Node {
	n = resolved(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolved(n.Content[i+1])
		}
	}
	return nil
}
