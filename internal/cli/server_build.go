package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"tend.dev/tend/internal/node/host"
)

// buildFlags adds the flags for building images from source.
func (f *machineFlags) buildFlags(flags *pflag.FlagSet) {
	o := &f.options.Build
	flags.StringVar(&o.Base, "build-base", "", "`REGISTRY/` put before the base images of Dockerfiles that are written")
	flags.DurationVar(&o.Timeout, "build-timeout", host.DefaultBuildTimeout, "how long a build may take")
	flags.IntVar(&o.AtOnce, "builds", 2, "`NUMBER` of images built at a time")
}

func (f *machineFlags) checkBuild() error {
	o := &f.options.Build
	if o.Timeout <= 0 || o.AtOnce <= 0 {
		return fmt.Errorf("--build-timeout %s and --builds %d: want more than nothing, and 1 or more", o.Timeout, o.AtOnce)
	}
	var err error
	o.MaxBytes, err = maxTree()
	return err
}
