package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "typescript:", err)
		os.Exit(1)
	}
}

func run(args []string, from io.Reader, to io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q; usage: typescript < openapi.json > client.ts", args[0])
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	doc, err := parse(text)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, printClient(doc))
	return err
}
