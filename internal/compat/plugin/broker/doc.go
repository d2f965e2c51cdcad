// Package broker connects plugins and the verbs: it passes users' requests to plugins, and performs what they answer.
//
// It decides how a macro is expanded: its plugin, installed if the macro says so and the apply is not a dry run; its
// manifests, which have to be core kinds of the macro's own scope; and its actions, which run after everything was
// found storable and before anything is stored. It also decides the order of a command's actions. A dry run asks
// plugins what a macro stands for, because it shows that, but it installs no plugin and performs no action.
//
// It writes nothing itself: every write goes through the verbs of package verbs, whose rules hold for plugins as for
// users.
package broker
