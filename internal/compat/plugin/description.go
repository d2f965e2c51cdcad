package plugin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tend.dev/tend/api/pattern"
)

// describedBy is the file in a plugin's folder that describes it.
const describedBy = "plugin.yml"

// maxDescription bounds a plugin.yml.
const maxDescription = 256 << 10

// Description is the content of a plugin.yml. Unknown keys are ignored: they may have a meaning elsewhere.
type Description struct {
	Name        string `yaml:"name"`
	Version     string `yaml:"version"`
	Description string `yaml:"description"`
	Homepage    string `yaml:"homepage"`
	// Aliases are other names it answers to.
	Aliases []string `yaml:"aliases"`
	// Entrypoint is a program that gets the command as its first argument. Default: each command is a file of its own in
	// bin or commands.
	Entrypoint string `yaml:"entrypoint"`
	// Commands lists the commands with a help text. With an entrypoint the list is complete.
	Commands []Command `yaml:"commands"`
	// Env is set in every call.
	Env map[string]string `yaml:"env"`
}

// Command is one command of a plugin.
type Command struct {
	Name string `yaml:"name"`
	Help string `yaml:"help"`
}

// The names that a plugin may give itself and its commands.
var (
	pluginName  = pattern.Lazy(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	commandName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,62}$`)
	envName     = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// ValidName reports whether a plugin may have the name.
func ValidName(name string) bool { return pluginName().MatchString(name) }

// describe reads the plugin.yml of a folder. fallback is the plugin's name if neither plugin.yml nor commands/name sets
// one.
func describe(dir, fallback string) (Description, error) {
	text, err := readSmall(filepath.Join(dir, describedBy))
	if errors.Is(err, fs.ErrNotExist) {
		return undescribed(dir, fallback)
	}
	if err != nil {
		return Description{}, err
	}
	var d Description
	if err := yaml.Unmarshal(text, &d); err != nil {
		return Description{}, fmt.Errorf("%s is not a valid plugin.yml: %s", describedBy,
			strings.TrimPrefix(err.Error(), "yaml: "))
	}
	d.Name = cmp.Or(d.Name, fallback)
	return d, d.check(dir)
}

func undescribed(dir, fallback string) (Description, error) {
	d := Description{Name: fallback}
	text, err := readSmall(filepath.Join(dir, "commands", "name"))
	if err == nil && ValidName(strings.TrimSpace(string(text))) {
		d.Name = strings.TrimSpace(string(text))
	}
	return d, d.check(dir)
}

// check returns the first fault of a description, or nil.
func (d Description) check(dir string) error {
	if !ValidName(d.Name) {
		return fmt.Errorf("name %q: a plugin is named with a-z, 0-9, - and _, at most 63 characters", d.Name)
	}
	for _, alias := range d.Aliases {
		if !ValidName(alias) {
			return fmt.Errorf("alias %q: an alias is written like a name: a-z, 0-9, - and _", alias)
		}
	}
	for _, command := range d.Commands {
		if !commandName().MatchString(command.Name) {
			return fmt.Errorf("command %q: a command is named with letters, digits and . _ : -", command.Name)
		}
	}
	for name, value := range d.Env {
		if !envName().MatchString(name) || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env %q can't be a variable", name)
		}
	}
	if d.Entrypoint == "" {
		return nil
	}
	if !filepath.IsLocal(d.Entrypoint) {
		return fmt.Errorf("entrypoint %q leads out of the plugin's folder", d.Entrypoint)
	}
	return executable(filepath.Join(dir, d.Entrypoint))
}

// answersTo reports whether the plugin has the alias.
func (d Description) answersTo(alias string) bool { return slices.Contains(d.Aliases, alias) }

// executable returns an error if a file can't be executed.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there", filepath.Base(path))
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s can't be executed", filepath.Base(path))
	}
	return nil
}

// readSmall reads a file of at most maxDescription bytes.
func readSmall(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDescription+1))
	if err == nil && len(text) > maxDescription {
		err = fmt.Errorf("%s is larger than %d bytes", filepath.Base(path), maxDescription)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}
