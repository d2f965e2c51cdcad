package podlog

import (
	"encoding/json"
	"fmt"
	"slices"

	"tend.dev/tend/api/pull"
)

// newest keeps the newest lines of several outputs, as many as fit into an answer.
type newest struct {
	lines []sized
	bytes int
	// left counts the lines that were left out.
	left int
}

type sized struct {
	pull.OutputLine
	output, bytes int
}

// add takes the next line of an output. Of one output they come in the order of time.
func (n *newest) add(output int, line pull.OutputLine) {
	text, err := json.Marshal(line)
	if err != nil {
		return // a time of a year that JSON has no form for
	}
	n.lines = append(n.lines, sized{line, output, len(text) + 1})
	if n.bytes += len(text) + 1; n.bytes > 2*pull.MaxAnswer {
		n.trim(pull.MaxAnswer)
	}
}

// trim leaves out the oldest lines of those that do not fit into a number of bytes.
func (n *newest) trim(room int) {
	slices.SortStableFunc(n.lines, func(a, b sized) int { return a.At.Compare(b.At) })
	first := 0
	for ; n.bytes > room && first < len(n.lines); first++ {
		n.bytes -= n.lines[first].bytes
	}
	n.left += first
	n.lines = slices.Delete(n.lines, 0, first)
}

// The bytes of the note that says what was left out, and of what surrounds the lines of one output.
const noteBytes, around = 512, 16

// into puts the lines into the outputs of an answer, as far as there is room beside what it has, and says what was left
// out.
func (n *newest) into(answer *pull.Answer) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	n.trim(pull.MaxAnswer - len(text) - noteBytes - around*len(answer.Outputs))
	for _, line := range n.lines {
		output := &answer.Outputs[line.output]
		output.Lines = append(output.Lines, line.OutputLine)
	}
	if n.left > 0 {
		answer.Notes = append(answer.Notes, fmt.Sprintf("%d older lines were left out: an answer has at most %d KiB. "+
			"--tail, --since, --pod and --container ask for less", n.left, pull.MaxAnswer>>10))
	}
	return nil
}
