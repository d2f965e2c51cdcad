package verb

import "tend.dev/tend/api"

// Command is a command that calls a verb of one object and prints what has become of it.
type Command struct {
	// Path has its words: "lab extend". Default: the verb's kind and its name.
	Path string
	// Use has the words behind its path. An object in it is [KIND] SCOPE/NAME, SCOPE/NAME, or the NAME of one in no
	// scope.
	Use, Short, Long, Example string
	// Rest is the number of arguments that may follow the object, Least how many must.
	Rest, Least int
	// Another is said of an object of another kind than the verb's. Default: it is not one of the kind.
	Another string
	// Loose leaves it to the server to find the object: a name may stand for several.
	Loose bool
	// Waits has the command wait until a change has taken effect; Counts has it wait for the number of pods alone.
	Waits, Counts bool
	// Repeats has it repeat a call whose outcome is unknown: the verb answers a repeat under the same idempotency key.
	Repeats bool
	// Read sets what the flags don't set of an input, a pointer to its struct, from the arguments behind the object. at
	// names the object as it was typed.
	Read func(at string, rest []string, input any) error
	// Asks returns the question that is asked first. Default: nothing is asked.
	Asks func(ref api.Ref, input any) string
	// Says returns the lines that say what was done, each with the name of what it is about.
	Says func(ref api.Ref, input, answer any) []Line
}

// Line names what was done to one thing. Next is the step that a user may take now; empty if there is none.
type Line struct{ Name, Text, Next string }

// Reads makes Command.Read of a typed function.
func Reads[In any](read func(at string, rest []string, in *In) error) func(string, []string, any) error {
	return func(at string, rest []string, input any) error { return read(at, rest, input.(*In)) }
}

// Says makes Command.Says of a typed function that says one thing of the object.
func Says[In, Out any](say func(ref api.Ref, in In, out Out) string) func(api.Ref, any, any) []Line {
	return func(ref api.Ref, input, answer any) []Line {
		return []Line{{Name: ref.String(), Text: say(ref, *input.(*In), *answer.(*Out))}}
	}
}
