package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// verified is the record, from the root of the repository.
const verified = ".ci/verified"

func main() {
	if err := run(context.Background(), ".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "inputs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, args []string, out io.Writer) error {
	if len(args) != 2 || (args[0] != "state" && args[0] != "record") {
		return errors.New("usage: inputs state|record TARGET")
	}
	target := args[1]
	c, known := checks[target]
	if !known {
		return fmt.Errorf("no inputs are known of %s: add them to internal/ci/inputs/checks.go", target)
	}
	now, err := digest(ctx, root, c)
	if err != nil {
		return err
	}
	path := filepath.Join(root, verified)
	recorded, err := readRecord(path)
	if err != nil {
		return err
	}
	if args[0] == "record" {
		recorded[target] = now
		return recorded.write(path)
	}
	state := "changed"
	if recorded[target] == now {
		state = "unchanged"
	}
	_, err = fmt.Fprintln(out, state)
	return err
}
