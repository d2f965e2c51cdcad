package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// confirm asks before an irreversible action. Without a terminal there is no one to ask, so it requires --yes.
func (a *app) confirm(yes bool, what string) error {
	if yes {
		return nil
	}
	if !terminal(a.in) {
		return fmt.Errorf("%s Add --yes to go on", what)
	}
	fmt.Fprintf(a.err, "%s Go on? [y/N] ", what)
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		return errors.New("no answer, so nothing was done; --yes goes on without asking")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}
