// Package wire reads the heads of HTTP/1.1 requests and answers that leave nothing to interpret: lines that end in CRLF,
// names that are tokens, one Host, one way to tell where the body ends. It says "not plain" to everything else, also where
// the standard would let it pass: whoever asked goes on with net/http then. It never guesses, and does no I/O.
package wire
