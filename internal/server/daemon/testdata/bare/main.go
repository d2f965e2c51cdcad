// Command bare answers requests over HTTP/2 and TLS, and does nothing else: a benchmark compares a server with it.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

func main() {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	fmt.Println(server.URL)
	select {}
}
