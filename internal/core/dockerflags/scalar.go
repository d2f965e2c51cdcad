package dockerflags

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"tend.dev/tend/api"
)

type durationOf = time.Duration

type apply = func(o *Options, value string) error

// pointer returns *at, after pointing it at a zero value if it was nil.
func pointer[T any](at **T) *T {
	if *at == nil {
		*at = new(T)
	}
	return *at
}

var errEmpty = errors.New("needs a value that is not empty")

func text(field func(*Options) *string) apply {
	return func(o *Options, v string) error {
		if v == "" {
			return errEmpty
		}
		*field(o) = v
		return nil
	}
}

func absolute(field func(*Options) *string) apply {
	return func(o *Options, v string) error {
		if !path.IsAbs(v) {
			return fmt.Errorf("takes an absolute path, not %q", v)
		}
		*field(o) = v
		return nil
	}
}

func truth(field func(*Options) *bool) apply {
	return func(o *Options, v string) error { return setTruth(field(o), v) }
}

func setTruth(at *bool, v string) error {
	parsed, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("is true or false, not %q", v)
	}
	*at = parsed
	return nil
}

func integer[T int | int64](field func(*Options) *T, low, high int64) apply {
	return func(o *Options, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return fmt.Errorf("takes a whole number, not %q", v)
		}
		if n < low || n > high {
			return fmt.Errorf("is outside %d to %d", low, high)
		}
		*field(o) = T(n)
		return nil
	}
}

func size(field func(*Options) *int64) apply {
	return func(o *Options, v string) error {
		n, err := api.ParseSize(v)
		if err != nil {
			return fmt.Errorf("has a wrong value: %w", err)
		}
		*field(o) = n
		return nil
	}
}

func sizeOrUnlimited(field func(*Options) *int64) apply {
	bounded := size(field)
	return func(o *Options, v string) error {
		if v == "-1" {
			*field(o) = -1
			return nil
		}
		return bounded(o, v)
	}
}

func duration(field func(*Health) *durationOf) apply {
	return func(o *Options, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil {
			return fmt.Errorf("takes a duration such as 30s or 1m, not %q", v)
		}
		if d != 0 && d < time.Millisecond {
			return errors.New("is shorter than 1ms")
		}
		*field(pointer(&o.Health)) = d
		return nil
	}
}

func oneOf(field func(*Options) *string, allowed ...string) apply {
	return func(o *Options, v string) error {
		if !slices.Contains(allowed, v) {
			return fmt.Errorf("is %s, not %q", strings.Join(allowed, " or "), v)
		}
		*field(o) = v
		return nil
	}
}

// namespace accepts the values of oneOf, or another container's namespace.
func namespace(field func(*Options) *string, allowed ...string) apply {
	return func(o *Options, v string) error {
		if other, found := strings.CutPrefix(v, "container:"); found && other != "" {
			*field(o) = v
			return nil
		}
		return oneOf(field, append(allowed, "container:<name>")...)(o, v)
	}
}

func cpuset(field func(*Options) *string) apply {
	return func(o *Options, v string) error {
		for part := range strings.SplitSeq(v, ",") {
			first, last, isRange := strings.Cut(part, "-")
			from, err := strconv.ParseUint(first, 10, 16)
			if isRange && err == nil {
				var to uint64
				if to, err = strconv.ParseUint(last, 10, 16); err == nil && to < from {
					err = strconv.ErrRange
				}
			}
			if err != nil {
				return fmt.Errorf("takes numbers and ranges such as 0-3,8, not %q", v)
			}
		}
		*field(o) = v
		return nil
	}
}
