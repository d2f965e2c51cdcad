package api

import (
	"errors"
	"fmt"
	"io"
	"text/template"
	"text/template/parse"
)

// SinkMessageData are the fields of a message's templates. Those of the embedded SinkMessageCause are the first one's.
type SinkMessageData struct {
	SinkMessageCause
	// Failed and Resolved are the causes that the message is about, at most 10 each; More counts the others.
	Failed, Resolved []SinkMessageCause
	More             int
	// Title is the default subject.
	Title string
}

// SinkMessageCause is one cause in a message.
type SinkMessageCause struct {
	// Object is kind scope/name.
	Object, Kind, Scope, Name string
	// Reason is a word such as NoNode, Message a sentence, Release the one that failed. Each may be empty.
	Reason, Message, Release string
	// Since is the time of the first failure, Next the command that says more. Count is the number of failures.
	Since, Next string
	Count       int
	// OK: the cause is resolved.
	OK bool
}

// MaxSinkTemplate bounds a template, in bytes.
const MaxSinkTemplate = 8 << 10

// ParseSinkTemplate parses a template of a message. It takes what can't run long or grow large: no loop but one over
// .Failed or .Resolved, no template in a template, and no function but those that compare.
func ParseSinkTemplate(text string) (*template.Template, error) {
	if len(text) > MaxSinkTemplate {
		return nil, fmt.Errorf("is larger than %d bytes", MaxSinkTemplate)
	}
	t, err := template.New("message").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("define and block are not supported: write one template")
	}
	if t.Tree == nil {
		return t, nil
	}
	if err := checkNodes(t.Root, 0); err != nil {
		return nil, err
	}
	cause := SinkMessageCause{Object: "deployment prod/web", Since: "2006-01-02 15:04:05 UTC", Count: 1}
	sample := SinkMessageData{SinkMessageCause: cause, Failed: []SinkMessageCause{cause},
		Resolved: []SinkMessageCause{cause}}
	if err := t.Execute(io.Discard, sample); err != nil {
		return nil, err
	}
	return t, nil
}

// templateFunctions lists the functions that a template may call.
var templateFunctions = map[string]bool{
	"and": true, "or": true, "not": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true,
	"ge": true, "len": true,
}

func checkNodes(list *parse.ListNode, loops int) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := checkNode(node, loops); err != nil {
			return err
		}
	}
	return nil
}

func checkNode(node parse.Node, loops int) error {
	switch n := node.(type) {
	case *parse.TextNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
		return nil
	case *parse.ActionNode:
		return checkPipe(n.Pipe)
	case *parse.IfNode:
		return errors.Join(checkPipe(n.Pipe), checkNodes(n.List, loops), checkNodes(n.ElseList, loops))
	case *parse.WithNode:
		return errors.Join(checkPipe(n.Pipe), checkNodes(n.List, loops), checkNodes(n.ElseList, loops))
	case *parse.RangeNode:
		if over := n.Pipe.String(); loops > 0 || over != ".Failed" && over != ".Resolved" {
			return fmt.Errorf("range %s: range only over .Failed or .Resolved, and don't nest loops", over)
		}
		return errors.Join(checkNodes(n.List, loops+1), checkNodes(n.ElseList, loops))
	}
	return fmt.Errorf("%s is not supported", node)
}

func checkPipe(pipe *parse.PipeNode) error {
	for _, command := range pipe.Cmds {
		for _, arg := range command.Args {
			switch n := arg.(type) {
			case *parse.IdentifierNode:
				if !templateFunctions[n.Ident] {
					return fmt.Errorf("function %q is not supported", n.Ident)
				}
			case *parse.PipeNode:
				if err := checkPipe(n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
