package dockerflags

// FlagError reports a flag that can't be used: unknown, with a wrong value, or about something Tend owns. Detail reads
// as a sentence that begins with the flag.
type FlagError struct {
	Flag   string
	Detail string
}

func (e *FlagError) Error() string { return e.Flag + " " + e.Detail }
