package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// otherVariables are those of flags whose own name is taken: every container of Tend's has TEND_NAME, and a server may
// run in one; TEND_SERVER and TEND_TOKEN are the client's.
var otherVariables = map[string]string{"name": "TEND_MEMBER_NAME", "server": "TEND_JOIN_SERVER",
	"token": "TEND_JOIN_TOKEN"}

// variableOf returns the environment variable that gives the flag of a server or an agent: services are configured by
// them.
func variableOf(flag string) string {
	if other := otherVariables[flag]; other != "" {
		return other
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
		err := flags.Set(flag.Name, value)
		switch want := wantedValues[flag.Value.Type()]; {
		case err == nil:
		case want != "":
			wrong = append(wrong, fmt.Errorf("%s=%q: want %s", variableOf(flag.Name), value, want))
		default:
			wrong = append(wrong, fmt.Errorf("%s=%q: %w", variableOf(flag.Name), value, cmp.Or(errors.Unwrap(err), err)))
		}
	})
	return errors.Join(wrong...)
}
