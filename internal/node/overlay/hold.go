package overlay

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
