// Package race says whether the race detector watches, under which code is several times slower: tests that try many
// cases try fewer then, one of Few. It decides nothing else, and only tests import it.
package race
