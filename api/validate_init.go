package api

import (
	"maps"
	"slices"
	"time"
)

func (c *checker) inits(inits []Init) {
	var names []string
	for i, init := range inits {
		field := index("inits", i)
		c.name(field+".name", init.Name)
		if slices.Contains(names, init.Name) {
			c.add(field+".name", "%q is used twice", init.Name)
		}
		names = append(names, init.Name)
		if len(init.Command) == 0 {
			c.add(field+".command", "is required")
		}
		c.argv(field+".command", init.Command)
		if init.Image != "" && !hasReference(init.Image) {
			c.addError(field+".image", CheckImage(init.Image))
		}
		c.duration(field+".timeout", init.Timeout, time.Second, maxWait)
		c.between(field+".retries", init.Retries, 0, MaxInitRetries)
		for _, name := range slices.Sorted(maps.Keys(init.Ulimits)) {
			_, _, _, err := ParseUlimit(name + "=" + init.Ulimits[name])
			c.addError(key(field+".ulimits", name), err)
		}
		c.resources(field+".resources", init.Resources)
	}
}
