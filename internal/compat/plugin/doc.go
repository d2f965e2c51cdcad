// Package plugin runs plugins: programs in folders of their own that extend Tend with commands and with macros, blocks
// of a manifest that stand for other objects.
//
// It decides what a folder offers (plugin.yml, commands, bin, an entrypoint), how a program is called (its folder, its
// environment, and bounds on its time and the size of its answer) and what of an answer is accepted. It installs
// plugins from a folder, a git repository or an archive, and replaces a plugin completely or not at all.
//
// It stores no object and no config: it returns what a plugin requests as values (Manifest, Action), and package broker
// performs it. It never trusts a plugin: an answer that is too long, too late or invalid is an *Error with the next
// step, and everything the program started is ended with it.
package plugin
