package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tend.dev/tend/api/pattern"
	"tend.dev/tend/internal/core/suggest"
)

// flagError returns the error of a command line whose flags can't be read, with the next step.
func flagError(command *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && wantedValues[invalid.GetFlag().Value.Type()] != "" {
		err = fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(),
			wantedValues[invalid.GetFlag().Value.Type()])
	}
	if found := negative().FindStringSubmatch(err.Error()); found != nil {
		return negativeError(command, found[1])
	}
	if hint := flagHint(command, err); hint != "" {
		return fmt.Errorf("%w\n  %s", err, hint)
	}
	return fmt.Errorf("%w\n  `%s --help` lists the flags", err, command.CommandPath())
}

// flagRules are the sentences of cobra about flags that belong together, and what Tend says instead.
var flagRules = []struct {
	cobra func() *regexp.Regexp
	says  func(flags []string) string
}{
	{pattern.Lazy(`^required flag\(s\) (.+) not set$`),
		func(flags []string) string { return strings.Join(flags, " and ") + " is missing" }},
	{pattern.Lazy(`^at least one of the flags in the group \[(.+)\] is required$`),
		func(flags []string) string {
			last := len(flags) - 1
			return "give " + strings.Join(flags[:last], ", ") + " or " + flags[last]
		}},
	{pattern.Lazy(`^if any flags in the group \[.+\] are set none of the others can be; \[(.+)\] were all set$`),
		func(flags []string) string { return strings.Join(flags, " and ") + " exclude each other: choose one" }},
}

// missingFlags returns an error about flags that belong together as Tend says it, and any other as it is.
func missingFlags(command *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	for _, rule := range flagRules {
		if found := rule.cobra().FindStringSubmatch(err.Error()); found != nil {
			flags := strings.FieldsFunc(found[1], func(r rune) bool { return strings.ContainsRune(`", `, r) })
			for i := range flags {
				flags[i] = "--" + flags[i]
			}
			return fmt.Errorf("%s\n  `%s --help` lists the flags", rule.says(flags), command.CommandPath())
		}
	}
	return err
}

// wantedValues says, by the type of a flag, what it takes.
var wantedValues = map[string]string{"int": "a whole number", "bool": "true or false",
	"duration": "a duration such as 90s, 10m or 1h30m"}

// negative finds a negative number that was taken for flags.
var negative = pattern.Lazy(`^unknown shorthand flag: '\d' in (-\d\S*)$`)

// negativeArguments are the reasons why the last argument of a command can't be negative, by the argument's name.
var negativeArguments = map[string]string{
	"REPLICAS": "the number of replicas can't be negative: want 0 or more",
	"ORDINAL":  "an ordinal can't be negative: that of the first pod is 0",
	"DURATION": "time can only be added: want a duration such as 30m; `tend lab stop` ends a lab early",
}

// negativeError returns the error of a command line with a negative number that is not the value of a flag.
func negativeError(command *cobra.Command, number string) error {
	words := strings.Fields(command.Use)
	if why := negativeArguments[words[len(words)-1]]; why != "" {
		return fmt.Errorf("%s: %s", number, why)
	}
	for _, flag := range []string{"tail", "last"} {
		if command.Flags().Lookup(flag) != nil {
			return fmt.Errorf("%s is not a flag\n  for the last %s: --%s %s", number, number[1:], flag, number[1:])
		}
	}
	return fmt.Errorf("%s is not a flag, and no argument here is a negative number: want %s", number, command.UseLine())
}

var unknownFlag = pattern.Lazy(`^unknown (?:shorthand flag: '(.)'|flag: (--[a-z-]+))`)

// flagHint returns the hint for a flag that a command doesn't have: what replaces one of the predecessor, or the flag
// that was probably meant; empty if there is none.
func flagHint(command *cobra.Command, err error) string {
	found := unknownFlag().FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	flag := found[2]
	if found[1] != "" {
		flag = "-" + found[1]
	}
	for _, h := range hintsOfFlags {
		if h.flag == flag && (h.command == "" || h.command == command.Name()) {
			return h.hint
		}
	}
	var absent *pflag.NotExistError
	if !errors.As(err, &absent) || found[1] != "" {
		return ""
	}
	var names []string
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := suggest.Nearest(strings.TrimPrefix(flag, "--"), names); near != "" {
		return suggest.Ask("--" + near)
	}
	return ""
}
