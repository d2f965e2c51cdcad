package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tend.dev/tend/internal/manifest"
	"tend.dev/tend/internal/version"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version of this binary and of the server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(a.out, "tend   %s\n", version.Version)
			c, err := a.dial()
			if err != nil {
				return nil //nolint:nilerr // without a server the client's version is the whole answer
			}
			server, err := c.Version(cmd.Context())
			if err != nil {
				fmt.Fprintf(a.err, "server does not answer: %v\n", err)
				return nil
			}
			fmt.Fprintf(a.out, "server %s (API %s, %s)\n", server.Version, server.API, server.GoVersion)
			return nil
		},
	}
}

func schemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "print the JSON schema of manifests, for editors", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.out.Write(manifest.Schema())
			return err
		},
	}
}
