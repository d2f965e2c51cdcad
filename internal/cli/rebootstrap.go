package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/client"
)

func (a *app) rebootstrapCommand() *cobra.Command {
	var yes bool
	command := a.verb(verb{
		use:   "rebootstrap [KIND] SCOPE/NAME ORDINAL",
		short: "recreate one ordinal of a statefulset with empty volumes", extra: 1,
		long: "Stop one ordinal of a statefulset, remove its container and the volumes of its volume_claims, and recreate it.\n" +
			"WHAT THE VOLUMES HOLD IS LOST. No other ordinal is touched, and no other command removes a volume. On a terminal it\n" +
			"asks first; elsewhere it wants --yes." + exitStatusOfVerbs,
		example: "  tend rebootstrap prod/db 2\n  tend rebootstrap statefulset prod/db 2 --yes",
		act: func(ctx context.Context, c *client.Client, ref api.Ref, rest []string) (api.VerbResult, string, error) {
			ordinal, err := ordinalOf(ref, rest)
			if err != nil {
				return api.VerbResult{}, "", err
			}
			pod := ref.AppID() + "." + strconv.Itoa(ordinal)
			if err := a.confirm(yes, "This removes what the volumes of "+pod+" hold, for good."); err != nil {
				return api.VerbResult{}, "", err
			}
			result, err := c.Rebootstrap(ctx, client.TargetOf(ref), ordinal)
			return result, rebootstrapText(pod, result), err
		},
	})
	command.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	return command
}

func ordinalOf(ref api.Ref, rest []string) (int, error) {
	if len(rest) != 1 {
		return 0, fmt.Errorf("say which ordinal: tend rebootstrap %s/%s 0", ref.Scope, ref.Name)
	}
	ordinal, err := strconv.Atoi(rest[0])
	if err != nil || ordinal < 0 {
		return 0, fmt.Errorf("%q is not an ordinal: want 0 or more", rest[0])
	}
	return ordinal, nil
}

func rebootstrapText(pod string, result api.VerbResult) string {
	if len(result.Volumes) == 0 {
		return pod + " is recreated; it has no volumes"
	}
	return fmt.Sprintf("%s is recreated, without what was in %s", pod, strings.Join(result.Volumes, ", "))
}

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
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}
