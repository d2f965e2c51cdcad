package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tend.dev/tend/api"
	"tend.dev/tend/internal/input/manifest"
	"tend.dev/tend/internal/platform/version"
)

// versions is the value of `tend version -o json`.
type versions struct {
	Client string       `json:"client"`
	Server *api.Version `json:"server,omitempty"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version of this binary and of the server", Args: takes(0, 0),
		Example: "  tend version\n  tend version -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := a.versions(cmd.Context())
			if a.structured() || a.output == "name" {
				return listing{value: found, names: []string{found.Client}}.write(a.streams, a.output)
			}
			fmt.Fprintf(a.out, "tend   %s\n", found.Client)
			switch {
			case found.Server != nil:
				fmt.Fprintf(a.out, "server %s (API %s, %s)\n", found.Server.Version, found.Server.API, found.Server.GoVersion)
			default:
				fmt.Fprintf(a.err, "server: %v\n", err)
			}
			return nil
		},
	}
}

// versions asks the server too; one that doesn't answer is not an error.
func (a *app) versions(ctx context.Context) (versions, error) {
	found := versions{Client: version.Version}
	c, err := a.dial()
	if err != nil {
		return found, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	server, err := c.Version(ctx)
	if err == nil {
		found.Server = &server
	}
	return found, err
}

func schemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "print the JSON schema of manifests, for editors", Args: takes(0, 0),
		Example: "  tend schema > manifest.schema.json",
		RunE: func(*cobra.Command, []string) error {
			_, err := s.out.Write(manifest.Schema())
			return err
		},
	}
}
