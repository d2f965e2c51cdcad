package dockerflags

// FlagError is a flag that can't be used: unknown, with a wrong value, or of something Tend owns. Detail reads as a
// sentence that begins with the flag.
type FlagError struct {
	Flag   string
	Detail string
}

func (e *FlagError) Error() string { return e.Flag + " " + e.Detail }
