package api

// blocks checks the blocks of a workload that have checks of their own.
func (c *checker) blocks(s DeploymentSpec) {
	c.autoscale(s.Autoscale)
	c.hooks(s)
	c.inits(s.Inits)
	c.build(s.Build)
}
