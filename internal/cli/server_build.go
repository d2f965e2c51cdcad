package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"tend.dev/tend/internal/daemon"
)

// buildFlags say how images are built from source; each has its variable, for services are configured by them.
func (f *serverFlags) buildFlags(flags *pflag.FlagSet) {
	o := &f.options.Build
	flags.StringVar(&o.Base, "build-base", os.Getenv("TEND_BUILD_BASE"), "`REGISTRY/` put before the base images of Dockerfiles that are written (TEND_BUILD_BASE)")
	flags.DurationVar(&o.Timeout, "build-timeout", daemon.DefaultBuildTimeout, "how long a build may take (TEND_BUILD_TIMEOUT)")
	flags.IntVar(&o.AtOnce, "builds", 2, "`NUMBER` of images built at a time")
}

// checkBuild takes what the variables say where no flag does.
func (f *serverFlags) checkBuild() error {
	o := &f.options.Build
	var err error
	if text := os.Getenv("TEND_BUILD_TIMEOUT"); text != "" && o.Timeout == daemon.DefaultBuildTimeout {
		if o.Timeout, err = time.ParseDuration(text); err != nil {
			return fmt.Errorf("TEND_BUILD_TIMEOUT %q: want a duration such as 30m", text)
		}
	}
	if o.Timeout <= 0 || o.AtOnce <= 0 {
		return fmt.Errorf("--build-timeout %s and --builds %d: both are above 0", o.Timeout, o.AtOnce)
	}
	o.MaxBytes, err = maxTree()
	return err
}
