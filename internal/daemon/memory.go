package daemon

// memory returns where secret files lie.
func (d *daemon) memory(make bool) (string, error) { return memoryFolder(d.cluster.UID, make) }
