// Command server is the only program in test images: it serves HTTP, or performs the command that its first argument
// names, so that containers can behave in every way although the image is FROM scratch.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(command(os.Args[1], os.Args[2:]))
	}
	os.Exit(serve(os.Args[1:]))
}

var commands = map[string]func(args []string) int{
	"exit":        exit,
	"env":         env,
	"wait":        func([]string) int { return waitForTerm() },
	"ignore-term": func([]string) int { return ignoreTerm() },
	"sleep":       sleep,
	"await":       await,
	"burn":        burn,
	"call":        call,
	"check":       check,
	"print":       printLines,
	"eat":         eat,
	"write":       write,
	"append":      appendRows,
	"cat":         cat,
	"copy":        func([]string) int { _, err := io.Copy(os.Stdout, os.Stdin); return code(err) },
	"id":          id,
	"limits":      limits,
	"size":        size,
	"lookup":      lookup,
}

func command(name string, args []string) int {
	run, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "unknown command %q\n", name)
		return 2
	}
	return run(args)
}

// exit ends with code args[0] after the duration args[1].
func exit(args []string) int {
	time.Sleep(duration(args, 1))
	return number(args, 0)
}

// env prints the environment, sorted.
func env([]string) int {
	lines := os.Environ()
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
	return 0
}

// waitForTerm ends with 0 on SIGTERM, SIGINT, SIGQUIT or SIGUSR1, naming it.
func waitForTerm() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1)
	fmt.Println("waiting")
	fmt.Println("got", <-signals)
	return 0
}

// ignoreTerm never ends by itself; only SIGKILL helps.
func ignoreTerm() int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Println("ignoring")
	for {
		time.Sleep(time.Hour)
	}
}

func sleep(args []string) int {
	time.Sleep(duration(args, 0))
	return 0
}

// await exits with code args[1], 0 by default, once the command write has filled the file args[0] and has ended: a test
// uses it to choose the moment of the end. The end of a container's first process kills the others, so the writer must
// end before it.
func await(args []string) int {
	for !filled(args[0]) {
		time.Sleep(20 * time.Millisecond)
	}
	if file, err := os.Open(args[0]); err == nil {
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_SH)
	}
	return number(args, 1)
}

func filled(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// burn keeps a core busy until the file args[0] exists, then waits.
func burn(args []string) int {
	for !exists(args[0]) {
		for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
		}
	}
	return waitForTerm()
}

// printLines prints args[0] numbered lines, each args[1] bytes long if given: odd ones on stdout, even ones on stderr.
func printLines(args []string) int {
	for i := 1; i <= number(args, 0); i++ {
		out := os.Stdout
		if i%2 == 0 {
			out = os.Stderr
		}
		line := fmt.Sprintf("line %d", i)
		if width := number(args, 1); width > len(line) {
			line += strings.Repeat("x", width-len(line))
		}
		fmt.Fprintln(out, line)
	}
	return 0
}

// eat allocates and touches args[0] MiB after the duration args[1], then waits. The delay lets the engine begin to
// watch the container: only then does the kernel's report of a lack of memory reach it.
func eat(args []string) int {
	time.Sleep(duration(args, 1))
	for range number(args, 0) {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		eaten = append(eaten, block)
	}
	fmt.Println("full")
	return waitForTerm()
}

var eaten [][]byte

// write fills the file args[0], which it keeps locked until it has ended.
func write(args []string) int {
	file, err := syscall.Open(args[0], syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o644)
	if err != nil {
		return code(err)
	}
	_ = syscall.Flock(file, syscall.LOCK_EX)
	_, err = syscall.Write(file, []byte(strings.Join(args[1:], " ")))
	return code(err)
}

func cat(args []string) int {
	data, err := os.ReadFile(args[0])
	os.Stdout.Write(data)
	return code(err)
}

func id([]string) int {
	dir, _ := os.Getwd()
	host, _ := os.Hostname()
	fmt.Printf("uid=%d gid=%d dir=%s host=%s\n", os.Getuid(), os.Getgid(), dir, host)
	return 0
}

// limits prints the soft and hard limit of open files and of processes.
func limits([]string) int {
	const nproc = 6
	for name, resource := range map[string]int{"nofile": syscall.RLIMIT_NOFILE, "nproc": nproc} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(resource, &limit); err != nil {
			return code(err)
		}
		fmt.Printf("%s=%d:%d\n", name, limit.Cur, limit.Max)
	}
	return 0
}

// size prints the size of the file system at args[0] in bytes.
func size(args []string) int {
	var stat syscall.Statfs_t
	err := syscall.Statfs(args[0], &stat)
	fmt.Println(int64(stat.Blocks) * stat.Bsize)
	return code(err)
}

// lookup prints the addresses of the host args[0], a line each.
func lookup(args []string) int {
	addresses, err := net.LookupHost(args[0])
	for _, address := range addresses {
		fmt.Println(address)
	}
	return code(err)
}

func number(args []string, i int) int {
	if i >= len(args) {
		return 0
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}

func duration(args []string, i int) time.Duration {
	if i >= len(args) {
		return 0
	}
	d, err := time.ParseDuration(args[i])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return d
}

func code(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
