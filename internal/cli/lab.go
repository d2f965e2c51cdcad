package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) labCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "lab", Short: "give a lab more time, or end it early",
		Long: "Give a lab, or every lab of a class, more time, or end it before its time is over. Both are recorded beside the\n" +
			"manifest: applying it again takes nothing back.",
	}
	command.AddCommand(a.verb("lab extend"), a.verb("lab stop"))
	return command
}
