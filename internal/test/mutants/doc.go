// Package mutants shows that tests can fail: it breaks Tend, one plausible defect at a time, and demands that a test
// sees it.
//
// A mutant is a .txtar file: a sentence that says what is wrong, then pairs of a source file's text and what it
// becomes. By default the worlds of internal/test/simulation have to fail. A line behind the sentence names another
// test:
//
//	caught by: ./internal/server/daemon TestOptionsReachTheirParts
//
// Build tags, as in -tags kube, stand before the package, and a subtest behind a slash.
//
// `make mutants` runs them; it takes hours. An ordinary test run checks that each mutant still fits the sources and
// that the test it names exists. That the test passes without the defect is shown by the ordinary run of that test.
package mutants
