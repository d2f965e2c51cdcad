package dockerflags

import (
	"github.com/spf13/pflag"
)

// checkTogether refuses flags that exclude each other, as docker does.
func checkTogether(o Options, set *pflag.FlagSet) error {
	excluding := [][2]string{
		{"no-healthcheck", "health-cmd"}, {"no-healthcheck", "health-interval"}, {"no-healthcheck", "health-timeout"},
		{"no-healthcheck", "health-start-period"}, {"no-healthcheck", "health-retries"},
		{"cpus", "cpu-period"}, {"cpus", "cpu-quota"},
	}
	for _, pair := range excluding {
		if set.Changed(pair[0]) && set.Changed(pair[1]) {
			return &FlagError{Flag: "--" + pair[0], Detail: "and --" + pair[1] + " exclude each other"}
		}
	}
	switch {
	case o.NetworkMode != "" && len(o.Networks) > 0:
		return &FlagError{Flag: "--network", Detail: "is both the mode " + o.NetworkMode +
			" and the network " + o.Networks[0].Name}
	case o.MemorySwap > 0 && o.MemorySwap < o.Memory:
		return &FlagError{Flag: "--memory-swap", Detail: "is memory and swap together and can't be smaller than --memory"}
	case o.Memory > 0 && o.MemoryReservation > o.Memory:
		return &FlagError{Flag: "--memory-reservation", Detail: "is larger than --memory"}
	}
	return nil
}
