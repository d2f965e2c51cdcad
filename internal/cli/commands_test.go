package cli

import (
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

func machineOf(ts *testscript.TestScript) *machine { return ts.Value("machine").(*machine) }

// serverCmd is `server stop|start`.
func serverCmd(ts *testscript.TestScript, _ bool, args []string) {
	switch strings.Join(args, " ") {
	case "stop":
		machineOf(ts).stop()
	case "start":
		ts.Check(machineOf(ts).start())
	default:
		ts.Fatalf("usage: server stop|start")
	}
}

// engineCmd is `engine disconnect|reconnect`, `engine kill POD`, `engine print POD TEXT` and `engine lines POD COUNT`:
// events outside of Tend.
func engineCmd(ts *testscript.TestScript, _ bool, args []string) {
	engine := machineOf(ts).engine
	switch args[0] {
	case "disconnect":
		engine.Disconnect()
	case "reconnect":
		engine.Reconnect()
	case "kill":
		ts.Check(engine.Kill(args[1], "SIGKILL"))
	case "print":
		ts.Check(engine.Print(args[1], "stderr", args[2]))
	case "lines":
		count, err := strconv.Atoi(args[2])
		ts.Check(err)
		for n := range count {
			ts.Check(engine.Print(args[1], "stdout", "line "+strconv.Itoa(n+1)))
		}
	default:
		ts.Fatalf("unknown: engine %s", args[0])
	}
}

// imageCmd is `image NAME`: it builds that image, and replaces an existing one of the name.
func imageCmd(ts *testscript.TestScript, _ bool, args []string) {
	machineOf(ts).engine.Retag(args[0])
}

// exitsCmd is `exits CODE COMMAND...`: exec with an exact exit code.
func exitsCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		got = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	ts.Logf("[stdout]\n%s[stderr]\n%s", ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// untilCmd is `until REGEXP COMMAND...`: run it again until its stdout matches.
func untilCmd(ts *testscript.TestScript, _ bool, args []string) {
	wanted := regexp.MustCompile("(?m)" + args[0])
	ts.Check(eventually(strings.Join(args, " "), func() bool {
		return ts.Exec(args[1], args[2:]...) == nil && wanted.MatchString(ts.ReadFile("stdout"))
	}))
}

// podCmd is `pod VAR OBJECT`: the name of the first live pod of an object, into a variable.
func podCmd(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Exec("tend", "get", "pods", args[1], "-o", "name"))
	name := firstLine(ts.ReadFile("stdout"))
	if name == "" {
		ts.Fatalf("%s has no pod", args[1])
	}
	ts.Setenv(args[0], name)
}

// lineCmd is `line N REGEXP`: the Nth line of the last stdout.
func lineCmd(ts *testscript.TestScript, _ bool, args []string) {
	number, err := strconv.Atoi(args[0])
	ts.Check(err)
	lines := strings.Split(ts.ReadFile("stdout"), "\n")
	if number > len(lines) || !regexp.MustCompile(args[1]).MatchString(lines[number-1]) {
		ts.Fatalf("line %d of stdout does not match %q", number, args[1])
	}
}
