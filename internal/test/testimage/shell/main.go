// Command shell is the sh of test images that need one: echo, exit, sh -c, variables, quotes and &&, and nothing else.
// Images FROM scratch have no sh, and tests have no registry to pull one from.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != "-c" {
		fmt.Fprintln(os.Stderr, "usage: sh -c COMMANDS")
		os.Exit(2)
	}
	os.Exit(run(os.Args[2]))
}

// run executes commands one after another until one fails.
func run(text string) int {
	var command []string
	for _, word := range append(words(text), "&&") {
		if word != "&&" {
			command = append(command, word)
			continue
		}
		if code := do(command); code != 0 {
			return code
		}
		command = nil
	}
	return 0
}

func do(command []string) int {
	switch {
	case len(command) > 0 && command[0] == "echo":
		fmt.Println(strings.Join(command[1:], " "))
		return 0
	case len(command) == 2 && command[0] == "exit":
		code, err := strconv.Atoi(command[1])
		if err != nil {
			return 2
		}
		return code
	case len(command) == 3 && command[0] == "sh" && command[1] == "-c":
		return run(command[2])
	}
	fmt.Fprintf(os.Stderr, "sh: %v: not found\n", command)
	return 127
}

// words splits a text at blanks. Quotes hold together what is between them; in single ones $NAME isn't a variable.
func words(text string) (out []string) {
	var word, piece strings.Builder
	begun := false
	flush := func(expand bool) {
		part := piece.String()
		if expand {
			part = os.ExpandEnv(part)
		}
		word.WriteString(part)
		piece.Reset()
	}
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			flush(quote == '"')
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			flush(true)
			quote, begun = c, true
		case quote == 0 && c == '\\' && i+1 < len(text):
			i++
			piece.WriteByte(text[i])
			begun = true
		case quote == 0 && (c == ' ' || c == '\n'):
			if flush(true); begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		default:
			piece.WriteByte(c)
			begun = true
		}
	}
	if flush(true); begun {
		out = append(out, word.String())
	}
	return out
}
