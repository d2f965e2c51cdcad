package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	from := flag.String("from", "bin/timings", "the folder that `make` recorded into")
	slowest := flag.Int("slowest", 25, "how many tests to print")
	least := flag.Float64("least", 2, "the `seconds` that a package must take to be printed")
	flag.Parse()
	if err := run(*from, *slowest, *least); err != nil {
		fmt.Fprintln(os.Stderr, "timings:", err)
		os.Exit(1)
	}
}

func run(from string, slowest int, least float64) error {
	steps, err := os.Open(filepath.Join(from, "steps.tsv"))
	if err != nil {
		return fmt.Errorf("%w: run `make check` first, which records it", err)
	}
	defer steps.Close()
	r := report{}
	if err := r.readSteps(steps); err != nil {
		return err
	}
	groups, err := filepath.Glob(filepath.Join(from, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range groups {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		err = r.readEvents(strings.TrimSuffix(filepath.Base(path), ".json"), file)
		_ = file.Close() // it was only read
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return r.print(os.Stdout, slowest, least)
}
