package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// variableOf is the environment variable that gives a server's flag: services are configured by them. TEND_NAME is taken: every
// container of Tend's has it, and a server may run in one.
func variableOf(flag string) string {
	if flag == "name" {
		return "TEND_MEMBER_NAME"
	}
	return "TEND_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment gives the flags that were left out the values of their variables. One that is set to nothing isn't set.
func fromEnvironment(flags *pflag.FlagSet) error {
	var wrong []error
	flags.VisitAll(func(flag *pflag.Flag) {
		value := os.Getenv(variableOf(flag.Name))
		if flag.Changed || value == "" || flag.Name == "help" {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			wrong = append(wrong, fmt.Errorf("%s=%q: %w", variableOf(flag.Name), value, cmp.Or(errors.Unwrap(err), err)))
		}
	})
	return errors.Join(wrong...)
}
