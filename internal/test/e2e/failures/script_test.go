package failures

import (
	"cmp"
	"flag"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write down what is printed now")

// patience is the time in which an output must become what it should be; waiting ends as soon as it is.
const patience = 60 * time.Second

// ticks yields at once, and then once in a period until patience is over.
func ticks(period time.Duration) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		ticker, over := time.NewTicker(period), time.After(patience)
		defer ticker.Stop()
		for yield(struct{}{}) {
			select {
			case <-ticker.C:
			case <-over:
				return
			}
		}
	}
}

// play runs the scripts of a folder against a server that they share.
func play(t *testing.T, dir string, shared func() (address string, engine engine)) {
	testscript.Run(t, testscript.Params{
		Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error { return setup(env, dir, shared) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"screen": screenCmd, "shows": showsCmd, "until": untilCmd, "engine": engineCmd,
		},
	})
}

// story is the environment of a script.
type story struct {
	dir    string
	scope  string
	words  *strings.Replacer
	engine engine
}

// setup gives a script its own scope and port, in place of `shop` and PORT.
func setup(env *testscript.Env, dir string, shared func() (string, engine)) error {
	s := &story{dir: dir, scope: word()}
	address, e := shared()
	s.engine = e
	port, err := freePort()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(env.WorkDir, "*.hcl"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		in := strings.NewReplacer("shop", s.scope, "PORT", port, "TAKEN", takenPort, "$WORK", env.WorkDir, "SERVER",
			serverBinary, "IMAGE", filepath.Dir(serverBinary))
		if err := os.WriteFile(file, []byte(in.Replace(string(text))), 0o644); err != nil {
			return err
		}
	}
	s.words = strings.NewReplacer(s.scope, "shop", port, "18861", ":"+cmp.Or(takenPort, "none"), ":18862",
		cmp.Or(httpAddress, "none:"), "127.0.0.1:8686", env.WorkDir, "$WORK", serverBinary, "SERVER",
		filepath.Dir(serverBinary), "IMAGE", serverRoot(address), "ROOT")
	env.Values["story"] = s
	env.Setenv("TEND_SERVER", address)
	env.Setenv("S", s.scope)
	env.Setenv("P", port)
	env.Setenv("HTTP", httpAddress)
	env.Setenv("YES", "y\n")
	env.Setenv("NO", "n\n")
	env.Setenv("TERM", "xterm")
	env.Setenv("NO_COLOR", "1")
	env.Setenv("PATH", filepath.Dir(tendBinary)+":"+env.Getenv("PATH"))
	env.Defer(func() { s.finish(address) })
	return nil
}

// finish removes the objects that the script declared.
func (s *story) finish(address string) {
	list := exec.Command(tendBinary, "get", "-s", s.scope, "-o", "name", "--server", address)
	names, _ := list.Output() // with a server that is down there is nothing to remove
	for name := range strings.FieldsSeq(string(names)) {
		kind, rest, _ := strings.Cut(name, "/")
		args := []string{"delete", kind, rest, "--server", address, "--timeout", "1m"}
		if s.engine != nil { // nothing of it outlives this process
			args = append(args, "--no-wait")
		}
		_ = exec.Command(tendBinary, args...).Run()
	}
}

// word returns four letters that no id contains.
func word() string {
	const letters = "ghjkmnpqrtuvwxyz"
	var out [4]byte
	for i := range out {
		out[i] = letters[rand.N(len(letters))]
	}
	return string(out[:])
}

func freePort() (string, error) {
	for {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		port := listener.Addr().(*net.TCPAddr).Port
		listener.Close()
		if port >= 10000 {
			return strconv.Itoa(port), nil
		}
	}
}

func storyOf(ts *testscript.TestScript) *story { return ts.Value("story").(*story) }

func (s *story) command(ts *testscript.TestScript, args []string) *exec.Cmd {
	command := exec.Command(tendBinary, args[1:]...)
	command.Dir = ts.Getenv("WORK")
	for _, name := range []string{"TEND_SERVER", "TEND_TOKEN", "TEND_ROOT", "HOME", "PATH", "TERM", "NO_COLOR"} {
		if value := ts.Getenv(name); value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	return command
}

// screenCmd runs `screen CODE FILE tend …` once, on a terminal: FILE holds the final screen. The content of ANSWER is
// typed, with a line end.
func screenCmd(ts *testscript.TestScript, _ bool, args []string) {
	s := storyOf(ts)
	text, code, err := onScreen(s.command(ts, args[2:]), ts.Getenv("ANSWER"))
	ts.Check(err)
	whole(ts, text)
	got := normal(text, s.words)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s:\n%s", code, args[0], got)
	}
	if got != s.want(ts, args[1]) && !s.write(ts, args[1], got) {
		ts.Logf("%s", got)
		ts.Fatalf("not what %s holds", args[1])
	}
}

// whole refuses a screen on which the terminal breaks a word, so that none is recorded.
func whole(ts *testscript.TestScript, text string) {
	if line := brokenLine(text); line != "" {
		ts.Fatalf("the terminal breaks a word of this line:\n%s", line)
	}
}

// showsCmd runs `shows FILE tend …` until it prints what FILE holds.
func showsCmd(ts *testscript.TestScript, _ bool, args []string) {
	s, got, last := storyOf(ts), "", ""
	for range ticks(300 * time.Millisecond) {
		text, _, err := onScreen(s.command(ts, args[1:]), "")
		ts.Check(err)
		whole(ts, text)
		if got = normal(text, s.words); got == s.want(ts, args[0]) {
			return
		}
		if got == last && s.write(ts, args[0], got) {
			return
		}
		last = got
	}
	ts.Logf("%s", got)
	ts.Fatalf("not what %s holds", args[0])
}

// untilCmd runs `until TEXT tend …` until its output has the text.
func untilCmd(ts *testscript.TestScript, _ bool, args []string) {
	s, output := storyOf(ts), []byte(nil)
	for range ticks(50 * time.Millisecond) {
		if output, _ = s.command(ts, args[1:]).CombinedOutput(); strings.Contains(string(output), args[0]) {
			return
		}
	}
	ts.Fatalf("in vain: %s\n%s", args[0], output)
}

func (s *story) want(ts *testscript.TestScript, file string) string { return ts.ReadFile(file) }

// write writes an output down in its script where that was asked for.
func (s *story) write(ts *testscript.TestScript, file, text string) bool {
	if !*update {
		return false
	}
	path := filepath.Join(s.dir, ts.Name()+".txtar")
	archive, err := txtar.ParseFile(path)
	ts.Check(err)
	for i := range archive.Files {
		if archive.Files[i].Name == file {
			archive.Files[i].Data = []byte(text)
		}
	}
	ts.Check(os.WriteFile(path, txtar.Format(archive), 0o644))
	return true
}
