package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// module is the prefix that the tables leave out of package names.
const module = "tend.dev/tend/"

// report holds the recorded times of one run.
type report struct {
	steps    []step
	packages []pkg
	tests    []test
}

// step is a target of the Makefile: its time, and its use of the processors.
type step struct {
	name                   string
	wall, user, sys, ended float64 // seconds; ended since 1970
	status                 int
}

type pkg struct {
	group, name string
	tests       int // top-level tests and their subtests
	seconds     float64
}

type test struct {
	group, pkg, name string
	seconds          float64
}

// readSteps reads lines of name, end, wall, user and system seconds and exit status.
func (r *report) readSteps(from io.Reader) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var s step
		if _, err := fmt.Sscan(lines.Text(), &s.name, &s.ended, &s.wall, &s.user, &s.sys, &s.status); err != nil {
			return fmt.Errorf("steps.tsv: %q: %w", lines.Text(), err)
		}
		r.steps = append(r.steps, s)
	}
	return lines.Err()
}

// event is a line of `go test -json` about a test or, without Test, about a package.
type event struct {
	Action, Package, Test string
	Elapsed               float64
}

// readEvents adds the packages and top-level tests of a group.
func (r *report) readEvents(group string, from io.Reader) error {
	counts := map[string]int{}
	decoder := json.NewDecoder(from)
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if e.Action != "pass" && e.Action != "fail" {
			continue
		}
		name := strings.TrimPrefix(e.Package, module)
		switch {
		case e.Test == "" && counts[name] > 0:
			r.packages = append(r.packages, pkg{group, name, counts[name], e.Elapsed})
		case e.Test != "":
			counts[name]++
			if !strings.Contains(e.Test, "/") {
				r.tests = append(r.tests, test{group, name, e.Test, e.Elapsed})
			}
		}
	}
}

func (r *report) print(to io.Writer, slowest int, least float64) error {
	out := bufio.NewWriter(to)
	fmt.Fprint(out, "| step | seconds | processor seconds |\n| --- | ---: | ---: |\n")
	for _, s := range r.steps {
		failed := ""
		if s.status != 0 {
			failed = fmt.Sprintf(" (failed: exit status %d)", s.status)
		}
		fmt.Fprintf(out, "| %s%s | %.0f | %.0f |\n", s.name, failed, s.wall, s.user+s.sys)
	}
	slices.SortStableFunc(r.packages, func(a, b pkg) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprint(out, "\n| package | group | tests | seconds |\n| --- | --- | ---: | ---: |\n")
	var rest pkg
	others := 0
	for _, p := range r.packages {
		if p.seconds < least {
			rest.tests, rest.seconds, others = rest.tests+p.tests, rest.seconds+p.seconds, others+1
			continue
		}
		fmt.Fprintf(out, "| %s | %s | %d | %.1f |\n", p.name, p.group, p.tests, p.seconds)
	}
	if others > 0 {
		fmt.Fprintf(out, "| %d more | | %d | %.1f |\n", others, rest.tests, rest.seconds)
	}
	slices.SortStableFunc(r.tests, func(a, b test) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprint(out, "\n| test | package | group | seconds |\n| --- | --- | --- | ---: |\n")
	for _, t := range r.tests[:min(slowest, len(r.tests))] {
		fmt.Fprintf(out, "| %s | %s | %s | %.1f |\n", t.name, t.pkg, t.group, t.seconds)
	}
	return out.Flush()
}
