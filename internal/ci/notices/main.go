// Command notices writes the licences of everything that is linked into a binary, Tend's if no other is named: each
// module with its version, and each licence, notice and patent grant that its files come with. It reads Go's module
// cache alone.
//
//	go run ./internal/ci/notices -to bin/THIRD-PARTY-NOTICES
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	to := flag.String("to", "", "`FILE` to write")
	of := flag.String("of", "./cmd/tend", "`PACKAGE` of the command")
	flag.Parse()
	text, err := notices(*of)
	if err == nil {
		err = os.WriteFile(*to, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write the third-party notices:", err)
		os.Exit(1)
	}
}

// notices returns the file for what a command of this module links.
func notices(command string) ([]byte, error) {
	linked, err := list(command)
	if err != nil {
		return nil, err
	}
	modules, err := collect(linked)
	if err != nil {
		return nil, err
	}
	return render(modules)
}
