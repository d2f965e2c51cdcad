package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles text at its first call, and returns the same expression at each call. It may be
// called by several goroutines. It panics if text is not a regular expression.
//
//go:noinline
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
