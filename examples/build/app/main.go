// Command built answers each request with its own name.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	name, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "hello from %s\n", name) })
	log.Fatal(http.ListenAndServe(":8080", nil))
}
