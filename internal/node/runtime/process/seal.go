//go:build linux

package process

import (
	"encoding/json"
	"fmt"
	"slices"

	"tend.dev/tend/internal/node/runtime"
	"tend.dev/tend/internal/node/runtime/process/shim"
)

// seal encrypts a record's environment, so that the record's file reveals no value.
func (r *Runtime) seal(record *shim.Record) error {
	if r.opts.Seal == nil {
		return nil
	}
	plain, err := json.Marshal(record.Program.Env)
	if err != nil {
		return err
	}
	if record.Sealed, err = r.opts.Seal(plain); err != nil {
		return fmt.Errorf("seal the environment: %w", err)
	}
	record.Program.Env = nil
	return nil
}

// open returns a record's environment in plain text. The caller may append to it.
func (r *Runtime) open(record shim.Record) ([]string, error) {
	if len(record.Sealed) == 0 {
		return slices.Clone(record.Program.Env), nil
	}
	if r.opts.Open == nil {
		return nil, unopened(fmt.Errorf("this server has no key"))
	}
	plain, err := r.opts.Open(record.Sealed)
	if err != nil {
		return nil, unopened(err)
	}
	var env []string
	if err := json.Unmarshal(plain, &env); err != nil {
		return nil, unopened(fmt.Errorf("it is not a list of variables"))
	}
	return env, nil
}

func unopened(err error) error {
	return &runtime.RejectedError{
		Reason: "EnvironmentSealed", Detail: fmt.Sprintf("open the container's environment: %v", err),
		Next: "start the server with the key the container was made under, or `tend restart` what it belongs to",
	}
}
