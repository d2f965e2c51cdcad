package plugin

import (
	"context"
	"encoding/json"
)

// Answer is the result of a command: a message, and the actions to perform.
type Answer struct {
	Message string   `json:"message"`
	Actions []Action `json:"actions"`
}

// dispatched is the context that a command gets on stdin.
type dispatched struct {
	Plugin     string `json:"plugin"`
	Command    string `json:"command"`
	Controller string `json:"controller_url"`
	Dir        string `json:"plugin_dir"`
	Node       string `json:"node_name"`
}

// Dispatch runs a command for a user. named is the plugin's name as it was typed, which may be an alias.
func (p *Plugin) Dispatch(
	ctx context.Context, named, command string, args []string, endpoint Endpoint,
) (Answer, error) {
	envelope, err := p.do(ctx, Call{Command: command, Args: args, Endpoint: endpoint,
		Stdin: func(url string) ([]byte, error) {
			return json.Marshal(dispatched{Plugin: named, Command: command, Controller: url, Dir: p.Dir, Node: p.root.opts.Node})
		}})
	if err != nil {
		return Answer{}, err
	}
	if envelope.Status == "" {
		return Answer{Message: envelope.Text}, nil
	}
	answer, err := answerOf(envelope.Data)
	if err != nil {
		return Answer{}, p.nonsense(command, "%s", err)
	}
	return answer, p.checkActions(command, answer.Actions, true)
}

// answerOf decodes data: an object with a message and actions, or anything else as the message.
func answerOf(data json.RawMessage) (Answer, error) {
	var answer Answer
	var text string
	switch {
	case len(data) == 0 || string(data) == "null":
		return answer, nil
	case json.Unmarshal(data, &text) == nil:
		return Answer{Message: text}, nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return Answer{Message: string(data)}, nil //nolint:nilerr // a list, a number: shown as it is
	}
	_, message := keys["message"]
	_, actions := keys["actions"]
	if !message && !actions {
		return Answer{Message: string(data)}, nil
	}
	return answer, json.Unmarshal(data, &answer)
}
