package dockerflags

import (
	"fmt"
	"math/big"

	"tend.dev/tend/api"
	"tend.dev/tend/api/pattern"
)

// coresPattern excludes exponents, and all but whole numbers of thousand millionths.
var coresPattern = pattern.Lazy(`^[0-9]{1,6}(\.[0-9]{1,9})?$|^\.[0-9]{1,9}$`)

func setCPUs(o *Options, v string) error {
	if !coresPattern().MatchString(v) {
		return fmt.Errorf("takes a number of cores such as 1.5, with at most 9 decimals, not %q", v)
	}
	cores, _ := new(big.Rat).SetString(v)
	nano := cores.Mul(cores, big.NewRat(1e9, 1))
	o.NanoCPUs = nano.Num().Int64()
	return nil
}

func addUlimit(o *Options, v string) error {
	name, soft, hard, err := api.ParseUlimit(v)
	if err != nil {
		return fmt.Errorf("has a wrong value: %w", err)
	}
	o.Ulimits = append(o.Ulimits, Ulimit{Name: name, Soft: soft, Hard: hard})
	return nil
}
