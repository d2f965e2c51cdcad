package dockerflags

import (
	"fmt"
	"path"
	"strings"

	"tend.dev/tend/api"
)

func addVolume(o *Options, v string) error {
	if !strings.Contains(v, ":") {
		if !path.IsAbs(v) || path.Clean(v) == "/" {
			return fmt.Errorf("takes source:target, or an absolute target other than /, not %q", v)
		}
		o.AnonymousVolumes = append(o.AnonymousVolumes, v)
		return nil
	}
	if _, err := api.ParseVolume(v); err != nil {
		return fmt.Errorf("has a wrong value: %w", err)
	}
	o.Binds = append(o.Binds, v)
	return nil
}

func addTmpfs(o *Options, v string) error {
	target, options, err := api.ParseTmpfs(v)
	if err != nil {
		return fmt.Errorf("has a wrong value: %w", err)
	}
	put(&o.Tmpfs, target, options)
	return nil
}
