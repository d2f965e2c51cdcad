package dockerflags

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what is found into testdata instead of comparing")

const goldenFile = "testdata/flags.txt"

func TestGolden(t *testing.T) {
	var rewritten strings.Builder
	for _, line := range readLines(t, goldenFile) {
		input, want, found := strings.Cut(line, " => ")
		if strings.HasPrefix(line, "#") || !found {
			rewritten.WriteString(line + "\n")
			continue
		}
		got := outcome(splitArgs(t, input))
		rewritten.WriteString(input + " => " + got + "\n")
		if diff := cmp.Diff(want, got); diff != "" && !*rewrite {
			t.Errorf("%s: each flag means one thing (-want +got):\n%s", input, diff)
		}
	}
	if *rewrite {
		if err := os.WriteFile(goldenFile, []byte(rewritten.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestComplete: the table holds exactly the flags of docker run 20.10, and each has a golden line.
func TestComplete(t *testing.T) {
	want := readLines(t, "testdata/names.txt")
	var got []string
	for _, f := range table {
		got = append(got, f.name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table and docker's own list differ (-docker +table):\n%s", diff)
	}
	golden := strings.Join(readLines(t, goldenFile), "\n")
	for _, f := range table {
		if !strings.Contains(golden, "--"+f.name+" ") && !strings.Contains(golden, "--"+f.name+"=") {
			t.Errorf("--%s has no line in %s", f.name, goldenFile)
		}
	}
}

func outcome(args []string) string {
	options, err := Parse(args)
	if err != nil {
		return "error: " + err.Error()
	}
	text, err := json.Marshal(options)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return lines
}

// splitArgs splits at spaces; an argument with spaces is written as a Go string.
func splitArgs(t *testing.T, text string) []string {
	t.Helper()
	var args []string
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		if text[0] != '"' {
			arg, rest, _ := strings.Cut(text, " ")
			args, text = append(args, arg), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		args, text = append(args, arg), text[len(quoted):]
	}
	return args
}
