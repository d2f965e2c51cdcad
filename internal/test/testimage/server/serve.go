package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// serve answers HTTP until a signal stops it. Every flag can also be an environment variable, because a manifest's env
// is easier to change than its command.
func serve(args []string) int {
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	port := flags.String("port", envOr("PORT", "8080"), "port to listen on ($PORT)")
	version := flags.String("version", envOr("VERSION", "v0"), "version to answer with ($VERSION)")
	datagrams := flags.String("udp", envOr("UDP", ""),
		"port whose datagrams are answered with the version and the host name; default none ($UDP)")
	exitAfter := flags.Duration("exit-after", envDuration("EXIT_AFTER"), "end by itself after this long ($EXIT_AFTER)")
	exitCode := flags.Int("exit-code", 0, "exit code of -exit-after ($EXIT_CODE)")
	ignore := flags.Bool("ignore-term", os.Getenv("IGNORE_TERM") != "", "ignore SIGTERM ($IGNORE_TERM)")
	lines := flags.Int("lines", 0, "lines to print at start ($LINES)")
	readyAfter := flags.Duration("ready-after", envDuration("READY_AFTER"), "/healthz fails until then ($READY_AFTER)")
	readyFor := flags.Duration("ready-for", envDuration("READY_FOR"), "/healthz fails again so long after ($READY_FOR)")
	*exitCode, *lines = envNumber("EXIT_CODE"), envNumber("LINES")
	_ = flags.Parse(args)

	printLines([]string{fmt.Sprint(*lines)})
	ended := make(chan int, 4)
	go func() {
		fmt.Printf("version %s listens on port %s\n", *version, *port)
		ended <- code(http.ListenAndServe(":"+*port, handler(*version, time.Now().Add(*readyAfter), *readyFor)))
	}()
	if *datagrams != "" {
		go func() { ended <- code(answerDatagrams(":"+*datagrams, *version)) }()
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for s := range signals {
			fmt.Println("got", s)
			if !*ignore {
				ended <- 0
			}
		}
	}()
	if *exitAfter > 0 {
		time.AfterFunc(*exitAfter, func() { ended <- *exitCode })
	}
	return <-ended
}

// answerDatagrams answers each datagram as / is answered.
func answerDatagrams(address, version string) error {
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	buffer := make([]byte, 1<<16)
	for {
		_, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return err
		}
		_, _ = socket.WriteTo(fmt.Appendf(nil, "hello %s from %s\n", version, host), from)
	}
}

// pod returns the name of this program's pod, which is its container's. A container without a host name of its own
// knows it too, from its environment.
func pod() string {
	return fmt.Sprintf("%s-%s.%s", os.Getenv("TEND_SCOPE"), os.Getenv("TEND_NAME"), os.Getenv("TEND_SLOT"))
}

func handler(version string, ready time.Time, readyFor time.Duration) http.Handler {
	host, _ := os.Hostname()
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "hello %s from %s\n", version, host)
	})
	mux.HandleFunc("/who/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, pod()) })
	health(mux, ready, readyFor)
	traffic(mux)
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		os.Exit(number([]string{r.FormValue("code")}, 0))
	})
	return mux
}

// health answers probes: /healthz with 503 until ready, then with 200 (for a time, if one is given), or with the status
// last set by /health?code=. /redirect redirects, /hang never answers.
func health(mux *http.ServeMux, ready time.Time, readyFor time.Duration) {
	var given atomic.Int64
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		status := int(given.Load())
		switch now := time.Now(); {
		case status == 0 && (now.Before(ready) || readyFor > 0 && now.After(ready.Add(readyFor))):
			status = http.StatusServiceUnavailable
		case status == 0:
			status = http.StatusOK
		}
		w.WriteHeader(status)
		fmt.Fprintln(w, http.StatusText(status))
	})
	mux.HandleFunc("/health", func(_ http.ResponseWriter, r *http.Request) {
		given.Store(int64(number([]string{r.FormValue("code")}, 0)))
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/nobody", http.StatusFound)
	})
	mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func envNumber(name string) int { return number([]string{envOr(name, "0")}, 0) }

func envDuration(name string) time.Duration { return duration([]string{envOr(name, "0s")}, 0) }
