package dockerflags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tend.dev/tend/api"
)

// Parse parses a docker_options list: one argument per entry, exactly as a shell would pass it to `docker run`.
func Parse(args []string) (Options, error) {
	var options Options
	if len(args) == 0 { // as with most workloads, which are read often
		return options, nil
	}
	set := flagSet(&options)
	if err := set.Parse(args); err != nil {
		return Options{}, explain(err, args)
	}
	if rest := set.Args(); len(rest) > 0 || slices.Contains(args, "--") {
		return Options{}, &FlagError{Flag: firstOf(rest, "--"),
			Detail: "is not a flag; the image and the command have fields of their own (image, command)"}
	}
	if err := checkTogether(options, set); err != nil {
		return Options{}, err
	}
	return options, nil
}

// Of parses the docker_options of a spec. It replaces asset files in them by placeholders.
func Of(spec api.DeploymentSpec) (Options, error) {
	args := make([]string, len(spec.DockerOptions))
	for i, flag := range spec.DockerOptions {
		args[i] = api.StandIn(flag)
	}
	return Parse(args)
}

// flagSet binds every flag of the table to a fresh Options.
func flagSet(options *Options) *pflag.FlagSet {
	set := pflag.NewFlagSet("docker_options", pflag.ContinueOnError)
	set.SetInterspersed(true)
	set.Usage = func() {}
	for _, f := range table {
		bound := set.VarPF(&value{flag: f, options: options}, f.name, f.short, "")
		if f.boolean {
			bound.NoOptDefVal = "true"
		}
	}
	return set
}

// value passes a flag's text from pflag to the table.
type value struct {
	flag    definition
	options *Options
}

func (v *value) Set(text string) error { return v.flag.apply(v.options, text) }
func (v *value) String() string        { return "" }
func (v *value) Type() string          { return "value" }

// explain converts pflag's errors to a *FlagError, which names the flag, says what is wrong and what to write instead.
func explain(err error, args []string) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return &FlagError{Flag: "--help", Detail: "does nothing for a container"}
	case errors.As(err, &unknown):
		return unknownFlag(unknown, args)
	case errors.As(err, &missing):
		return &FlagError{Flag: "--" + missing.GetFlag().Name,
			Detail: "needs a value; write it as --flag=value, or as the next entry of the list"}
	case errors.As(err, &invalid):
		flagErr := &FlagError{Flag: "--" + invalid.GetFlag().Name, Detail: invalid.Unwrap().Error()}
		return flagErr
	}
	return &FlagError{Flag: firstOf(args, ""), Detail: err.Error()}
}

func unknownFlag(unknown *pflag.NotExistError, args []string) error {
	name := "--" + unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		name = "-" + unknown.GetSpecifiedName()
	}
	flagName, _, spaced := strings.Cut(unknown.GetSpecifiedName(), " ")
	if spaced && known(flagName) {
		return &FlagError{Flag: "--" + flagName,
			Detail: fmt.Sprintf("and its value are one entry; write them as --%s=value, or as two entries", flagName)}
	}
	return &FlagError{Flag: name, Detail: "is not a flag of docker run (as of Docker 20.10)"}
}

func known(name string) bool {
	return slices.ContainsFunc(table, func(f definition) bool { return f.name == name })
}

func firstOf(list []string, fallback string) string {
	if len(list) > 0 {
		return list[0]
	}
	return fallback
}
