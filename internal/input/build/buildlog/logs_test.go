package buildlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T) *Logs {
	t.Helper()
	l, err := Open(filepath.Join(t.TempDir(), "builds"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func begin(t *testing.T, l *Logs, called string) *Log {
	t.Helper()
	log, err := l.Begin(called)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func read(t *testing.T, l *Logs, called string) (lines []string) {
	t.Helper()
	if err := l.Read(t.Context(), called, false, func(line string) error {
		lines = append(lines, line)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestWhatABuildPrintsCanBeReadAfterwards(t *testing.T) {
	l := open(t)
	log := begin(t, l, "prod-web.abc")
	log.Line("one")
	log.Line("two\nlines")
	log.End("built")
	log.Line("too late")
	if got := read(t, l, "prod-web.abc"); !slices.Equal(got, []string{"one", "two lines", "built"}) {
		t.Errorf("%q", got)
	}
	begin(t, l, "prod-web.abc").End("again")
	if got := read(t, l, "prod-web.abc"); !slices.Equal(got, []string{"again"}) {
		t.Errorf("a second build goes on with the log of the first: %q", got)
	}
}

// TestFollow: a reader that follows before the build began gets every line as it comes, and the end.
func TestFollow(t *testing.T) {
	l := open(t)
	lines, ended := make(chan string), make(chan error)
	go func() {
		ended <- l.Read(t.Context(), "prod-web.abc", true, func(line string) error {
			lines <- line
			return nil
		})
	}()
	log := begin(t, l, "prod-web.abc")
	for _, text := range []string{"one", "two"} {
		log.Line(text)
		if got := <-lines; got != text {
			t.Errorf("%q", got)
		}
	}
	go log.End("built")
	if got := <-lines; got != "built" {
		t.Errorf("%q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFollowFromTheFirstMoment: a reader that retries while a build begins gets all of its log, never an empty one.
func TestFollowFromTheFirstMoment(t *testing.T) {
	for range 200 {
		l := open(t)
		ended := make(chan []string)
		go func() {
			var lines []string
			for len(lines) == 0 {
				err := l.Read(t.Context(), "prod-web.abc", true, func(line string) error {
					lines = append(lines, line)
					return nil
				})
				if err != nil || len(lines) == 0 {
					lines = append(lines, fmt.Sprintf("an empty log, %v", err))
				}
			}
			ended <- lines
		}()
		runtime.Gosched()
		begin(t, l, "prod-web.abc").End("built")
		if got := <-ended; !slices.Equal(got, []string{"built"}) {
			t.Fatalf("%q", got)
		}
	}
}

func TestAFollowerMayLeave(t *testing.T) {
	l := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Read(ctx, "prod-web.abc", true, func(string) error { return nil }) }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stop := errors.New("enough")
	begin(t, l, "prod-web.abc").Line("one")
	if err := l.Read(t.Context(), "prod-web.abc", true, func(string) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestNamesLeadNowhere(t *testing.T) {
	l := open(t)
	for _, called := range []string{"", "../x.abc", "prod-web", "prod-web.xyz!", "a/b.abc", "none.abc"} {
		if err := l.Read(t.Context(), called, false, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", called, err)
		}
	}
	if _, err := l.Begin("../x.abc"); err == nil {
		t.Error("a log outside of the folder was begun")
	}
}

func TestALogIsBounded(t *testing.T) {
	l := open(t)
	log := begin(t, l, "prod-web.abc")
	line := strings.Repeat("x", 64<<10)
	for range 2 * maxLog / len(line) {
		log.Line(line)
	}
	log.End("failed")
	info, err := os.Stat(filepath.Join(l.folder, "prod-web.abc.log"))
	if err != nil || info.Size() > maxLog+1<<10 {
		t.Errorf("%v, %v", info, err)
	}
	if got := read(t, l, "prod-web.abc"); got[len(got)-1] != "failed" {
		t.Error("its last lines are lost")
	}
}

func TestSurplus(t *testing.T) {
	l := open(t)
	for i, called := range []string{"a.1", "a.2", "a.3", "a.4"} {
		begin(t, l, called).End("")
		at := time.Unix(int64(i), 0)
		if err := os.Chtimes(filepath.Join(l.folder, called+suffix), at, at); err != nil {
			t.Fatal(err)
		}
	}
	running := begin(t, l, "a.5")
	if err := l.Surplus(func(called string) bool { return called == "a.1" }, 1); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(l.folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	if want := []string{"a.1.log", "a.4.log", "a.5.log"}; !slices.Equal(names, want) {
		t.Errorf("left %v, want %v: what is wanted, the newest of the rest, and what is written", names, want)
	}
	running.End("")
}
