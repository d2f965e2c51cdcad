// Command portable type-checks the command line for other systems than this one, since people deploy from their
// laptops. That takes a fraction of the time for compiling all of its dependencies. It fails with the errors that a
// build would print.
//
// Example:
//
//	go run ./internal/ci/portable darwin/arm64 linux/arm64
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

const command = "./cmd/tend"

func main() {
	failed := false
	for _, target := range os.Args[1:] {
		faults, err := check(command, target)
		if err != nil {
			faults = append(faults, err.Error())
		}
		for _, fault := range faults {
			fmt.Fprintf(os.Stderr, "%s: %s\n", target, fault)
		}
		failed = failed || len(faults) > 0
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the errors of a command and of all that it imports, for a system and a processor such as darwin/arm64.
func check(command, target string) (faults []string, err error) {
	system, processor, both := strings.Cut(target, "/")
	if !both {
		return nil, errors.New("want a system and a processor, such as darwin/arm64")
	}
	loaded, err := packages.Load(&packages.Config{
		// With dependencies and their syntax, types come from sources instead of from compiled packages.
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax,
		Env: append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
	}, command)
	if err != nil {
		return nil, err
	}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, fault := range p.Errors {
			faults = append(faults, fault.Error())
		}
	})
	return faults, nil
}
