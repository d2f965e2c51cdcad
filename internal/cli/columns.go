package cli

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	// columnGap separates the columns of a table.
	columnGap = 3
	// cutWidth is the room that a column whose cells may be cut has before any optional column, and minCutWidth the least
	// that it is cut to if the other columns leave no more.
	cutWidth    = 24
	minCutWidth = 10
)

// column is one column of a table.
type column struct {
	title string
	cells []string
}

// width returns the width of the widest cell.
func (c column) width() int {
	width := ansi.StringWidth(c.title)
	for _, cell := range c.cells {
		width = max(width, ansi.StringWidth(cell))
	}
	return width
}

// empty reports whether the column has no values.
func (c column) empty() bool {
	return !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != "" && cell != "-" })
}

// narrowing describes how a table adapts to a terminal that is too narrow. It changes only the columns that it names.
type narrowing struct {
	// from is the width from which a column is shown, whatever the cells hold. A narrower terminal gets the shorter form
	// of the column from brief, or else nothing.
	from  map[string]int
	brief map[string]column
	// drop are columns that may be left out if the table is too wide, in the order in which they go.
	drop []string
	// cut are columns whose long cells may be cut, because the whole text is in -o wide or -o json.
	cut []string
	// squeeze are columns that are cut only where those that stay don't fit otherwise, and do then.
	squeeze []string
}

// chosen returns the columns of a terminal of a width, whatever the cells hold.
func (n narrowing) chosen(all []column, width int) (out []column) {
	for _, c := range all {
		short, ok := n.brief[c.title]
		switch {
		case width >= n.from[c.title]:
			out = append(out, c)
		case ok:
			out = append(out, short)
		}
	}
	return out
}

// fit returns the columns that fit the width. It starts with the columns that always stay and adds the others, the most
// important first, as long as there is room. Columns without values come last. A table that is still too wide keeps all
// columns that always stay.
func (n narrowing) fit(all []column, width int) []column {
	all = n.chosen(all, width)
	needs := func(c column) int {
		if slices.Contains(n.cut, c.title) {
			return min(c.width(), cutWidth) + columnGap
		}
		return c.width() + columnGap
	}
	room := width + columnGap
	for _, c := range all {
		room -= c.width() + columnGap
	}
	if room >= 0 {
		return all
	}
	room = width + columnGap
	var optional []int
	for i, c := range all {
		if slices.Contains(n.drop, c.title) {
			optional = append(optional, i)
		} else {
			room -= needs(c)
		}
	}
	slices.SortStableFunc(optional, func(i, j int) int { return n.rank(all[j]) - n.rank(all[i]) })
	shown := slices.Clone(all)
	for i, c := range shown {
		if narrower := c.width() + room; room < 0 && narrower >= minCutWidth && slices.Contains(n.squeeze, c.title) {
			shown[i].cells, room = cutCells(c.cells, narrower), 0
		}
	}
	dropped := map[int]bool{}
	for _, i := range optional {
		if dropped[i] = needs(shown[i]) > room; !dropped[i] {
			room -= needs(shown[i])
		}
	}
	var out []column
	for i, c := range shown {
		if !dropped[i] {
			out = append(out, c)
		}
	}
	return n.cutTo(out, width)
}

// cutTo cuts the cells of the columns that may be cut. Each has at least cutWidth, or less if the others leave less;
// the first ones get what remains.
func (n narrowing) cutTo(columns []column, width int) []column {
	left := func(least int) int {
		room := width + columnGap
		for _, c := range columns {
			wide := c.width()
			if slices.Contains(n.cut, c.title) {
				wide = min(wide, least)
			}
			room -= wide + columnGap
		}
		return room
	}
	least := cutWidth
	for least > minCutWidth && left(least) < 0 {
		least--
	}
	if left(least) < 0 {
		least = cutWidth // the line breaks anyway
	}
	room := max(left(least), 0)
	for i, c := range columns {
		if slices.Contains(n.cut, c.title) {
			columns[i].cells = cutCells(c.cells, min(c.width(), least+room))
			room -= columns[i].width() - min(c.width(), least)
		}
	}
	return columns
}

// rank orders the columns that may be left out: those with the lowest rank go first.
func (n narrowing) rank(c column) int {
	if c.empty() {
		return -1
	}
	return slices.Index(n.drop, c.title)
}

func cutCells(cells []string, width int) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		out[i] = shortened(cell, width)
	}
	return out
}

// aligned writes columns as lines.
func aligned(columns []column) string {
	if len(columns) == 0 {
		return ""
	}
	lines := make([]strings.Builder, 1+len(columns[0].cells))
	for i, c := range columns {
		width := c.width() + columnGap
		for row, cell := range append([]string{c.title}, c.cells...) {
			lines[row].WriteString(cell)
			if i < len(columns)-1 {
				lines[row].WriteString(strings.Repeat(" ", width-ansi.StringWidth(cell)))
			}
		}
	}
	var out strings.Builder
	for i := range lines {
		out.WriteString(lines[i].String() + "\n")
	}
	return out.String()
}
