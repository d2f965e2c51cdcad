package host

// memory returns the folder of secret files.
func (h *Host) memory(make bool) (string, error) { return memoryFolder(h.Cluster, h.Node, make) }
