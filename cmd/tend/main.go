// Command tend is the server, the agent and the command line, in one binary.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // time zones for cron jobs on hosts without them

	"tend.dev/tend/internal/cli"
	"tend.dev/tend/internal/node/runtime/process"
)

func main() {
	process.MaybeShim() // a plain process of the process runtime runs below a shim: this binary, called again
	os.Exit(cli.Main(context.Background(), os.Args[1:]))
}
