package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
)

// traffic answers clients of a proxy: /sum counts a body's bytes, /echo echoes lines over an upgraded connection,
// /address returns the client's address as the pod sees it.
func traffic(mux *http.ServeMux) {
	mux.HandleFunc("POST /sum", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprintln(w, n)
	})
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/address", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Proto"))
	})
}

func echo(w http.ResponseWriter, _ *http.Request) {
	conn, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	fmt.Fprint(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	for lines := bufio.NewScanner(both); both.Flush() == nil && lines.Scan(); {
		fmt.Fprintln(both, lines.Text())
	}
}
