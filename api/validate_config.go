package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tend.dev/tend/api/pattern"
)

var configKey = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// CheckConfigKey checks the key of a config value.
func CheckConfigKey(name string) error {
	if !configKey().MatchString(name) {
		return fmt.Errorf("%q is not a key: use letters, digits and _, not beginning with a digit, at most 128", name)
	}
	return nil
}

// config checks what a container takes from buckets.
func (c *checker) config(s Container) {
	c.each("env_from", s.EnvFrom, func(entry string) error {
		for part := range strings.SplitSeq(entry, "/") {
			if !dnsLabel().MatchString(part) || strings.Count(entry, "/") > 1 {
				return fmt.Errorf("%q is not scope/name or name", entry)
			}
		}
		return nil
	})
	c.secretFiles(s.SecretFiles)
}

func (c *checker) secretFiles(files map[string]string) {
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		field := key("secret_files", path)
		c.addError(field, checkTarget(path))
		if strings.HasSuffix(path, "/") || path != strings.ReplaceAll(path, "//", "/") {
			c.add(field, "is the path of a file, without double or final slashes")
		}
		if strings.ContainsAny(path, ":,\x00") {
			c.add(field, "holds a colon, a comma or a NUL, which no mount can")
		}
		for end := strings.LastIndexByte(path, '/'); end > 0; end = strings.LastIndexByte(path[:end], '/') {
			if _, file := files[path[:end]]; file {
				c.add(field, "lies below %s, which is a file", path[:end])
			}
		}
		c.addError(field, CheckConfigKey(files[path]))
		c.mounts(field, path)
	}
}
