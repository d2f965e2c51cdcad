package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/daemon"
)

func (a *app) devCommand() *cobra.Command {
	var flags serverFlags
	command := &cobra.Command{
		Use:   "dev",
		Short: "run a private server and agent in one command, beside any other",
		Long: "Run a private server and agent: own state folder (./.tend unless --root or TEND_ROOT says otherwise), own network, no\n" +
			"TCP listener. Where no container engine answers it runs plain processes.",
		Example: "  tend dev                        # in one terminal\n  export TEND_ROOT=$PWD/.tend     # in another\n  tend apply -f web.hcl",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := &flags.options
			if !cmd.Flags().Changed("root") && os.Getenv("TEND_ROOT") == "" {
				o.Root = ".tend"
			}
			for flag, private := range map[string]*string{"ingress-http": &o.Ingress.HTTP, "ingress-https": &o.Ingress.HTTPS} {
				if !cmd.Flags().Changed(flag) {
					*private = map[string]string{"ingress-http": "127.0.0.1:8080", "ingress-https": "127.0.0.1:8443"}[flag]
				}
			}
			if !cmd.Flags().Changed("http") {
				o.HTTP = "off"
			}
			var err error
			if o.Root, err = filepath.Abs(o.Root); err != nil {
				return err
			}
			if err := flags.check(); err != nil {
				return err
			}
			if err := daemon.Private(cmd.Context(), o); err != nil {
				return err
			}
			fmt.Fprintf(a.err, "a private Tend in %s; to use it from another terminal:\n  export TEND_ROOT=%s\n", o.Root, shellQuoted(o.Root))
			return flags.run(cmd.Context())
		},
	}
	flags.add(command)
	_ = command.Flags().MarkHidden("etcd-client")
	_ = command.Flags().MarkHidden("etcd-peer")
	return command
}

// shellQuoted is a path as a shell takes it.
func shellQuoted(path string) string {
	for _, r := range path {
		plain := r == '/' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !plain {
			return fmt.Sprintf("%q", path)
		}
	}
	return path
}
