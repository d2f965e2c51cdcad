package daemon

// memory is where secret files lie.
func (d *daemon) memory(make bool) (string, error) { return memoryFolder(d.cluster.UID, make) }
