package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// serverSwitch is --server of `tend nodes add`. Alone it says for what the token is; with a URL it is the flag that
// every command has, which it hides.
type serverSwitch struct {
	// alone counts how often it was given without a value of its own.
	alone int
	url   string
}

func (s *serverSwitch) String() string   { return strconv.FormatBool(s.wanted()) }
func (s *serverSwitch) Type() string     { return "bool" }
func (s *serverSwitch) IsBoolFlag() bool { return true }

// Set takes a value after an equals sign, and "true" without one.
func (s *serverSwitch) Set(value string) error {
	if strings.Contains(value, "://") {
		s.url = value
		return nil
	}
	given, err := strconv.ParseBool(value)
	if given {
		s.alone++
	}
	return err
}

// wanted reports whether the token is for a server.
func (s *serverSwitch) wanted() bool { return s.alone > 0 }

// urls takes URLs, which stand behind the flag, out of the arguments.
func (s *serverSwitch) urls(args []string) (rest []string) {
	for _, arg := range args {
		if s.alone > 0 && strings.Contains(arg, "://") {
			s.alone, s.url = s.alone-1, arg
		} else {
			rest = append(rest, arg)
		}
	}
	return rest
}

// args checks the arguments, and has the command call the server that --server names.
func (s *serverSwitch) args(a *app) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		rest := s.urls(args)
		if s.url != "" {
			a.server = s.url
		}
		return takes(0, 0)(cmd, rest)
	}
}
