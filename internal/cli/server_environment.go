package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// variableOf returns the environment variable that gives a server's flag: services are configured by them. TEND_NAME is
// taken: every container of Tend's has it, and a server may run in one.
func variableOf(flag string) string {
	if flag == "name" {
		return "TEND_MEMBER_NAME"
	}
	return "TEND_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the flags that were left out from their variables. An empty variable counts as unset.
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
