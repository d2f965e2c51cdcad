package cli

import (
	"github.com/spf13/cobra"

	"tend.dev/tend/internal/control/messenger"
)

// sendMessageCommand returns the child process in which a server has the library shoutrrr send a message.
func (a *app) sendMessageCommand() *cobra.Command {
	return &cobra.Command{
		Use: messenger.RelayCommand, Short: "send a message of a sink that is read from standard input",
		Hidden: true, Args: takes(0, 0),
		Long: "Send a message by the library shoutrrr: what a server runs for each message of a sink with a shoutrrr block. The message and the\n" +
			"address are read from standard input, as JSON.",
		RunE: func(*cobra.Command, []string) error {
			if code := messenger.ServeRelay(a.in, a.out); code != exitOK {
				return &exitStatus{code: code}
			}
			return nil
		},
	}
}
