// Command built answers each request with its own name.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	address := ":8080"
	if port := os.Getenv("PORT"); port != "" { // plain processes get their port
		address = os.Getenv("HOST") + ":" + port
	}
	name, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "hello from %s\n", name) })
	log.Fatal(http.ListenAndServe(address, nil))
}
