package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/node/host"
	"tend.dev/tend/internal/server/backup/restore"
	"tend.dev/tend/internal/store/etcd"
)

func (a *app) restoreCommand() *cobra.Command {
	var with openFlags
	var o restore.Options
	var yes bool
	command := &cobra.Command{
		Use: "restore FILE", Short: "make a server's root from a backup", Args: takes(1, 1),
		Long: "Make the root of a server from a backup, on the same machine or a new one, while no server runs there. Everything is checked\n" +
			"before anything is changed, and all of it is restored or nothing. The server then starts paused: tend resume takes over the\n" +
			"containers that run. Runs since the backup don't run again by themselves.\n\n" +
			"Where neither --root nor TEND_ROOT names the root, it says which one it would make, and asks: without a terminal it wants --yes.",
		Example: "  tend restore tend.tar.zst.age --root /var/lib/tend\n  tend restore tend.age --identity key.txt --root /var/lib/tend --force",
		RunE: func(cmd *cobra.Command, args []string) error {
			in, done, err := with.open(cmd.Context(), a, args[0])
			defer done()
			if err != nil {
				return aboutFile(args[0], err)
			}
			if err := a.confirmRoot(o, cmd.Flags().Changed("root"), yes); err != nil {
				return err
			}
			o.Logger = slog.New(logHandler("text", slog.LevelError))
			result, err := restore.Restore(cmd.Context(), in, o)
			if errors.Is(err, restore.ErrUsed) || errors.Is(err, restore.ErrBusy) || errors.Is(err, etcd.ErrInUse) {
				return fmt.Errorf("%s: %w", o.Root, err)
			}
			if err != nil {
				return aboutFile(args[0], err)
			}
			if a.structured() {
				return listing{value: result}.write(a.streams, a.output)
			}
			a.restored(a.out, o.Root, result)
			return nil
		},
	}
	with.add(command)
	flags := command.Flags()
	flags.StringVar(&o.Root, "root", host.DefaultRoot(), "`FOLDER` of all of Tend's files (TEND_ROOT)")
	flags.StringVar(&o.Data, "data", "", "etcd data `FOLDER` (default ROOT/state)")
	flags.StringVar(&o.Name, "name", "", "`NAME` of the server (default the one in the backup)")
	flags.BoolVar(&o.Force, "force", false,
		"also into a used root, which --root names: what the backup replaces is moved to ROOT/replaced, nothing is deleted")
	flags.BoolVarP(&yes, "yes", "y", false, "restore to the default root without a question")
	return command
}

// confirmRoot asks before a restore to a root that is not named: a backup that is only to be read must not land where
// the machine's own server starts. What such a root holds is never moved aside.
func (a *app) confirmRoot(o restore.Options, named, yes bool) error {
	switch {
	case named || os.Getenv("TEND_ROOT") != "":
		return nil
	case o.Force:
		return fmt.Errorf("--force moves aside what a root holds: name the root, such as --root %s", o.Root)
	}
	return a.confirm(yes, fmt.Sprintf("This restores to %s, where a server of this user has its files; --root FOLDER names another place.", o.Root))
}
