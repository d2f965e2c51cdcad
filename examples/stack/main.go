// Command stack is the program of the tutorial: a web server, its database, its migration and its report in one image.
// The first argument says which. The database keeps a counter in /data and wants the password of DB_PASSWORD.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// version is set when the binary is linked.
var version = "1"

func main() {
	programs := map[string]func() error{"db": database, "web": web, "migrate": migrate, "report": report}
	name := strings.Join(os.Args[1:], " ")
	program, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "stack: there is no program %q\n", name)
		os.Exit(2)
	}
	if err := program(); err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
		os.Exit(1)
	}
}

func serve(port string, handler http.Handler) error {
	server := &http.Server{Addr: ":" + port, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	return server.ListenAndServe()
}

const counter = "/data/visits"

// database answers GET with the counter, counts with POST, and makes the counter with PUT.
func database() error {
	var mu sync.Mutex
	return serve("5432", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if _, password, _ := r.BasicAuth(); password != os.Getenv("DB_PASSWORD") {
			http.Error(w, "wrong password", http.StatusUnauthorized)
			return
		}
		text, err := os.ReadFile(counter)
		n, _ := strconv.Atoi(string(text))
		switch {
		case r.Method == http.MethodPut && errors.Is(err, os.ErrNotExist):
			err = os.WriteFile(counter, []byte("0"), 0o600)
		case r.Method == http.MethodPost && err == nil:
			n++
			err = os.WriteFile(counter, []byte(strconv.Itoa(n)), 0o600)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, n)
	}))
}

// ask sends a request to the database and returns its answer.
func ask(method string) (string, error) {
	request, err := http.NewRequest(method, "http://"+os.Getenv("DB"), nil)
	if err != nil {
		return "", err
	}
	request.SetBasicAuth("web", os.Getenv("DB_PASSWORD"))
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the database says: %s", strings.TrimSpace(string(text)))
	}
	return string(text), err
}

func web() error {
	mux := http.NewServeMux()
	answer := func(method, format string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			n, err := ask(method)
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintf(w, format, version, n)
		}
	}
	mux.HandleFunc("GET /{$}", answer(http.MethodPost, "version %s, visit %s\n"))
	mux.HandleFunc("GET /ready", answer(http.MethodGet, "version %s is ready, %s visits\n"))
	return serve("8080", mux)
}

func migrate() error {
	_, err := ask(http.MethodPut)
	if err == nil {
		fmt.Println("the counter is there")
	}
	return err
}

func report() error {
	n, err := ask(http.MethodGet)
	if err == nil {
		fmt.Printf("%s visits\n", n)
	}
	return err
}
