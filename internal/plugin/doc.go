// Package plugin runs plugins: programs in folders of their own that extend Tend with commands and with macros, blocks of
// a manifest that stand for other objects.
//
// It decides what a folder offers (plugin.yml, commands, bin, an entrypoint), how a program is called (its folder, its
// environment, its time and the size of its answer are bounded) and what of an answer is taken. It installs plugins from a
// folder, a git repository or an archive, and a plugin is replaced whole or not at all.
//
// It stores no object and no config: what a plugin asks for comes out as values (Manifest, Action), and package broker
// does it. A plugin is never believed: an answer that is too long, too late or makes no sense is an *Error with the next
// step, and everything the program started is ended with it.
package plugin
