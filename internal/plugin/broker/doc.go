// Package broker stands between plugins and the verbs: it asks plugins what users want of them, and does what they answer.
//
// It decides what a macro comes to (its plugin, installed where the macro says so and the apply is real; its manifests,
// which have to be core kinds of the macro's own scope; its actions, which run before anything is stored and after all of
// it was found storable), and in which order the actions of a command are done. A dry run asks plugins what a macro stands
// for, for that is what it shows, and does nothing of what they ask for: it installs no plugin and performs no action.
//
// It writes nothing itself: all goes through the verbs of package intent, whose rules hold for plugins as for people.
package broker
