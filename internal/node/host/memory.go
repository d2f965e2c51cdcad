package host

// memory returns where secret files lie.
func (h *Host) memory(make bool) (string, error) { return memoryFolder(h.Cluster, h.Node, make) }
