package overlay

// orOver returns a hold that is over where none is given.
func orOver(hold <-chan struct{}) <-chan struct{} {
	if hold != nil {
		return hold
	}
	over := make(chan struct{})
	close(over)
	return over
}

// spares reports whether the network stays as it was before this process. A device that ended with its process, or with
// the machine, is made again.
func (o *Overlay) spares(state State) bool {
	select {
	case <-o.Hold:
		o.made = true
	default:
		o.made = o.made || state.Device == nil
	}
	return !o.made
}
