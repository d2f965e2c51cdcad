package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// call makes an HTTP request, METHOD URL [BODY], and prints the status and the answer. $NAME in the URL is from the
// environment: there is no shell to put it in.
func call(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "call METHOD URL [BODY]")
		return 2
	}
	request, err := http.NewRequest(args[0], os.ExpandEnv(args[1]), strings.NewReader(strings.Join(args[2:], " ")))
	if err != nil {
		return code(err)
	}
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return code(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode)
	fmt.Println(strings.TrimSpace(string(body)))
	return code(err)
}

// check prints the answer of a URL and exits with 0 if its status is below 400, else with 1, for use in a HEALTHCHECK.
func check(args []string) int {
	response, err := (&http.Client{Timeout: 10 * time.Second}).Get(args[0])
	if err != nil {
		return code(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Printf("%d %s\n", response.StatusCode, strings.TrimSpace(string(body)))
	if err == nil && response.StatusCode >= 400 {
		return 1
	}
	return code(err)
}
