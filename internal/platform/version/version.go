package version

// Version is set by the linker; "dev" is a build by hand.
var Version = "dev"
