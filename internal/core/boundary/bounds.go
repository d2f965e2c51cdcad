package boundary

// MaxStatus bounds a record of what a node says, in bytes: of a task, an image, its proxy, its network or itself. What
// agents send has a few KiB; some list containers, files or certificates.
const MaxStatus = 256 << 10
