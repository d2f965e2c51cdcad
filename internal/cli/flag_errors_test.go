package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestNegativeNumbers: a command says of a negative number why it can't be, and not that it has no such flag.
func TestNegativeNumbers(t *testing.T) {
	for line, says := range map[string]string{
		"scale prod/web -1":             "-1: the number of replicas can't be negative: want 0 or more",
		"scale deployment prod/web -20": "-20: the number of replicas can't be negative",
		"rebootstrap prod/db -1":        "-1: an ordinal can't be negative",
		"lab extend school/a -30m":      "-30m: time can only be added",
		"logs prod/web -20":             "for the last 20: --tail 20",
		"events -5":                     "for the last 5: --last 5",
		"rollback prod/web -1":          "-1 is not a flag, and no argument here is a negative number: want tend rollback",
	} {
		if err := runLine(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("tend %s: %v, want %q", line, err, says)
		}
	}
}

// TestEveryNumberOfAnArgumentCanBeNegative: each argument that is a number has its sentence.
func TestEveryNumberOfAnArgumentCanBeNegative(t *testing.T) {
	found := map[string]bool{}
	eachCommand(newRoot(streams{}), func(command *cobra.Command) {
		for name := range negativeArguments {
			if strings.HasSuffix(command.Use, " "+name) {
				found[name] = true
			}
		}
	})
	if len(found) != len(negativeArguments) {
		t.Errorf("commands have %v of %v", found, negativeArguments)
	}
}

// TestValuesOfFlags: a flag with a value that it can't have says what it takes, in no words of a library.
func TestValuesOfFlags(t *testing.T) {
	want := map[string]string{"int": "want a whole number", "duration": "want a duration such as 90s, 10m or 1h30m",
		"bool": "want true or false"}
	tried := map[string]bool{}
	eachCommand(newRoot(streams{}), func(command *cobra.Command) {
		command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			kind := flag.Value.Type()
			if want[kind] == "" {
				return
			}
			tried[kind] = true
			line := strings.TrimPrefix(command.CommandPath()+" --"+flag.Name+"=often", "tend ")
			if err := runLine(line); err == nil || !strings.Contains(err.Error(), `"often": `+want[kind]+"\n") {
				t.Errorf("tend %s: %v", line, err)
			}
		})
	})
	if len(tried) != len(want) {
		t.Errorf("tried only %v", tried)
	}
}

func runLine(line string) error {
	root := newRoot(streams{out: io.Discard, err: io.Discard})
	root.SetArgs(strings.Fields(line))
	return root.Execute()
}

// TestFlagsThatBelongTogether: what cobra says of them is said in Tend's words, with the flags as people type them.
func TestFlagsThatBelongTogether(t *testing.T) {
	for line, says := range map[string]string{
		"sync add x --scope a":                            "give --git, --http or --dir\n",
		"tokens add ada":                                  "--role is missing\n  `tend tokens add --help` lists the flags",
		"sync add x --dir /tmp":                           "give --scope or --trusted\n",
		"sync add x --scope a --dir /tmp --git https://a": "--dir and --git exclude each other: choose one\n",
	} {
		root := newRoot(streams{out: io.Discard, err: io.Discard})
		root.SetArgs(strings.Fields(line))
		if err := missingFlags(root.ExecuteC()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("tend %s: %v, want %q", line, err, says)
		}
	}
}
