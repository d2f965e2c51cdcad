package failures

import (
	"regexp"
	"strings"
)

// rules replace parts that differ between runs; the replacement has the same length if a column depends on it.
var rules = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`(shop-[a-z]+)\.[0-9a-f]{8}`), "$1.xxxxxxxx"},
	{regexp.MustCompile(`^  host      \S+$`), "  host      machine"},
	{regexp.MustCompile(`^  platform  \S+$`), "  platform  os/arch"},
	{regexp.MustCompile(`\bm-[0-9a-f]{8,16}`), "m-xxxxxxxx"},
	{regexp.MustCompile(`\.example:\d+`), ".example:18861"},
	{regexp.MustCompile(`\d+ starts`), "N starts"},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "sha256:…"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "0123456789abcdef"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "0123456789ab"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-01-02T03:04:05Z"},
	{regexp.MustCompile(`(for|created|ended|began|last) [0-9hms.]+( ago)?(,|$|\))`), "$1 AGE$2$3"},
	{regexp.MustCompile(`\((\S+ )?[0-9hms.]+ ago\)`), "(AGE ago)"},
	{regexp.MustCompile(`(took) [0-9a-zµ.]+,`), "$1 TIME,"},
	{regexp.MustCompile(`  +[0-9]+[smhd]([0-9]+[smh])?$`), "  AGE"},
	{regexp.MustCompile(`  BY +AGE$`), "  BY  AGE"},
	{regexp.MustCompile(`  (apply|config|restart|rollback) \S+ +AGE$`), "  $1 USER  AGE"},
	{regexp.MustCompile(`\(pid \d+\)`), "(pid 4711)"},
	{regexp.MustCompile(`^[⠋⠙⠹⠸⠼⠴⠦⠧]`), "…"},
	{regexp.MustCompile(`(  v\d+  +)\d+( +)`), "${1}N$2"},
	{regexp.MustCompile(`  (AGE)$`), "  $1"},
	{regexp.MustCompile(`172\.\d+\.\d+\.\d+`), "172.18.0.2"},
}

// events is the events section of an object, which depends on how soon its pods were seen.
var events = regexp.MustCompile(`(?m)^Events\r?\n(.+\n)*\r?\n?`)

// normal returns an output without the parts that differ between runs, wrapped again. Equal lines in a row, such as
// those of attempts that failed alike, are reduced to one.
func normal(text string, words *strings.Replacer) string {
	var out []string
	took, logged := false, map[string]bool{}
	for line := range strings.SplitSeq(events.ReplaceAllString(words.Replace(unwrapped(text)), ""), "\n") {
		line = strings.TrimRight(line, " \r")
		for _, rule := range rules {
			line = rule.find.ReplaceAllString(line, rule.put)
		}
		if took = line != "" && (took || strings.Contains(line, "TOOK")); took {
			line = columnsOf(line)
		}
		if log := strings.HasPrefix(strings.TrimSpace(line), "| "); !log {
			clear(logged)
		} else if logged[line] {
			continue // the output of more than one start
		} else {
			logged[line] = true
		}
		if len(out) > 0 && line != "" && out[len(out)-1] == line {
			continue
		}
		out = append(out, line)
	}
	for i, line := range out {
		out[i] = rewrapped(line)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

var (
	gaps  = regexp.MustCompile(`(\S)  +`)
	spans = regexp.MustCompile(`(  )[0-9.]+m?s  `)
)

// columnsOf removes the padding of a table that has a column of durations.
func columnsOf(line string) string {
	return spans.ReplaceAllString(gaps.ReplaceAllString(line, "$1  "), "${1}TIME  ")
}
