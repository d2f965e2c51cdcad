package timetable

import (
	"fmt"
	"strconv"
	"strings"
)

// column is one field of a schedule: its name and the values it allows.
type column struct {
	name      string
	low, high int
	// names stand for low, low+1, …; only their first three letters are listed and compared.
	names []string
}

var columns = [5]column{
	{name: "minute", low: 0, high: 59},
	{name: "hour", low: 0, high: 23},
	{name: "day-of-month", low: 1, high: 31},
	{name: "month", low: 1, high: 12,
		names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day-of-week", low: 0, high: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// set holds the values that a field matches.
type set struct {
	bits uint64
	// star is set if one of the entries is a star, with or without a step; stepped if one has a step.
	star, stepped bool
}

// parse parses a comma-separated list of *, n, n-m, */step and n-m/step. It refuses n/step: some crons take it for n
// alone, others for n to the end by step.
func (c column) parse(text string) (set, error) {
	var out set
	for entry := range strings.SplitSeq(text, ",") {
		if err := c.entry(entry, &out); err != nil {
			return set{}, err
		}
	}
	return out, nil
}

func (c column) entry(entry string, into *set) error {
	span, stepText, stepped := strings.Cut(entry, "/")
	low, high, star, err := c.span(entry, span)
	if err != nil {
		return err
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > c.high || stepText[0] == '+' {
			return c.fault(entry, "has a step that is not a number from 1 to %d", c.high)
		}
		if !star && !strings.Contains(span, "-") {
			return c.fault(entry, "has a step without a range; write %s-%d/%s, or %s alone", span, c.last(), stepText, span)
		}
	}
	for n := low; n <= high; n += step {
		into.bits |= 1 << n
	}
	into.star = into.star || star
	into.stepped = into.stepped || stepped
	return nil
}

// span parses *, n or n-m.
func (c column) span(entry, text string) (low, high int, star bool, err error) {
	if text == "*" {
		return c.low, c.last(), true, nil
	}
	first, second, isRange := strings.Cut(text, "-")
	if low, err = c.number(entry, first); err != nil || !isRange {
		return low, low, false, err
	}
	if high, err = c.number(entry, second); err != nil {
		return 0, 0, false, err
	}
	if c.names != nil && c.low == 0 && high == 0 && low > 0 {
		high = 7 // fri-sun ends with the week
	}
	if high < low {
		return 0, 0, false, c.fault(entry, "is a range that ends before it begins")
	}
	return low, high, false, nil
}

func (c column) number(entry, text string) (int, error) {
	for i, name := range c.names {
		if strings.EqualFold(text, name) {
			return c.low + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || text[0] == '+' || text[0] == '-':
		if c.names != nil {
			return 0, c.fault(entry, "is neither a number nor one of %s", strings.Join(c.names, ", "))
		}
		return 0, c.fault(entry, "is not a number")
	case n < c.low || n > c.high:
		return 0, c.fault(entry, "is outside %d to %d", c.low, c.high)
	}
	return n, nil
}

// last returns the greatest value a star or an open step reaches: a week has no second Sunday.
func (c column) last() int {
	if c.high == 7 {
		return 6
	}
	return c.high
}

func (c column) fault(entry, format string, args ...any) error {
	return &FieldError{Field: c.name, Text: entry, Detail: fmt.Sprintf(format, args...)}
}
