// Command manpages writes a manual page for each command of Tend: tend.1, tend-apply.1 and so on. It is a program of
// its own so that the binary doesn't link what renders pages.
//
//	go run ./internal/ci/manpages -to bin/man -version v1.2.3
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"tend.dev/tend/internal/cli"
)

func main() {
	to := flag.String("to", "", "`FOLDER` of the pages")
	version := flag.String("version", "dev", "`VERSION` that the pages name")
	flag.Parse()
	if err := write(*to, *version); err != nil {
		fmt.Fprintln(os.Stderr, "write the manual pages:", err)
		os.Exit(1)
	}
}

// write replaces the pages of folder to. A page's date is SOURCE_DATE_EPOCH, else today.
func write(to, version string) error {
	// The defaults of flags must be those of a machine that runs Tend as root, not those of the build machine.
	if err := os.Setenv("TEND_ROOT", "/var/lib/tend"); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	root := cli.Command()
	root.DisableAutoGenTag = true
	settle(root)
	header := doc.GenManHeader{Section: "1", Source: "Tend " + version, Manual: "Tend"}
	return doc.GenManTree(root, &header, to)
}

// rootDefaults are the values for root of the defaults that depend on the user.
var rootDefaults = map[string]string{"ingress-http": ":80", "ingress-https": ":443"}

func settle(command *cobra.Command) {
	for name, value := range rootDefaults {
		if flag := command.Flags().Lookup(name); flag != nil {
			flag.DefValue = value
		}
	}
	for _, child := range command.Commands() {
		settle(child)
	}
}
