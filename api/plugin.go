package api

import (
	"encoding/json"
	"strings"

	"tend.dev/tend/api/pattern"
)

// LabelMacro shows StampMacro, so that objects can be selected by it. It grants nothing.
const LabelMacro = "tend.macro"

// labelDotted had the value of StampDotted in earlier versions of Tend.
const labelDotted = "tend.dotted-name"

// Dotted returns the name that a plugin gave the object with dots; empty if none did.
func (o Object) Dotted() string {
	if dotted := o.Metadata.Stamps[StampDotted]; dotted != "" {
		return dotted
	}
	return o.Metadata.Labels[labelDotted]
}

// MacroKind returns the kind of the macro that a plugin made the object of, which is a name of the plugin; empty if
// none did.
func (o Object) MacroKind() string {
	kind, _, _ := strings.Cut(o.Metadata.Stamps[StampMacro], "/")
	return kind
}

// CallsBack reports whether the containers of an object are given a URL to call the server back at: those of every
// statefulset, and of every workload whose manifest a plugin wrote.
func (o Object) CallsBack() bool {
	return o.Kind == KindStatefulSet || o.Kind.HasSlots() && o.MacroKind() != ""
}

// EnvController is the variable that says where containers reach the server; see CallsBack.
const EnvController = "TEND_CONTROLLER_URL"

// MacroPlugin is the field of a macro's spec that says where its plugin is from; plugins don't see it.
const MacroPlugin = "plugin"

// PluginSource names the plugin of a macro: an apply that doesn't find it installs it.
type PluginSource struct {
	// Version is the required version, or latest: every apply installs the newest one again.
	Version string `json:"version,omitempty" hcl:"version,optional"`
	// Repo is the plugin's source: owner/repo on GitHub, or any source that `tend plugins install` takes.
	Repo string `json:"repo,omitempty" hcl:"repo,optional"`
}

// versioned is owner/repo@version.
var versioned = pattern.Lazy(`^([A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+|github\.com/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)@v?([0-9A-Za-z][0-9A-Za-z.+-]*)$`)

// Split takes the version out of a Repo such as owner/repo@1.2.0, unless Version names one.
func (s PluginSource) Split() PluginSource {
	if found := versioned().FindStringSubmatch(s.Repo); found != nil && s.Version == "" {
		return PluginSource{Repo: found[1], Version: found[2]}
	}
	return s
}

// Plugin is a plugin that is installed, or with Error a folder that can't be used as one.
type Plugin struct {
	Name        string          `json:"name"`
	Version     string          `json:"version,omitempty"`
	Description string          `json:"description,omitempty"`
	Homepage    string          `json:"homepage,omitempty"`
	Aliases     []string        `json:"aliases,omitempty"`
	Commands    []PluginCommand `json:"commands,omitempty"`
	// Source is the source of the installation. Pinned is the requested version; empty follows the source.
	Source string `json:"source,omitempty"`
	Pinned string `json:"pinned,omitempty"`
	Error  string `json:"error,omitempty"`
}

// PluginCommand is a command of a plugin.
type PluginCommand struct {
	Name string `json:"name"`
	Help string `json:"help,omitempty"`
}

// PluginInstall asks for a plugin: from a folder or archive of the server's machine, an archive's URL, owner/repo on
// GitHub, or the URL of a git repository.
type PluginInstall struct {
	// Source may be left out where Name names an installed plugin: that one is fetched again from where it came from.
	Source string `json:"source,omitempty"`
	// Name is the name that the plugin must have. Default: any name.
	Name string `json:"name,omitempty"`
	// Version pins it. Default: the newest.
	Version string `json:"version,omitempty"`
}

// PluginRemoval is the answer to the removal of a plugin.
type PluginRemoval struct {
	Name string `json:"name"`
	// Warning is the complaint of its uninstall hook.
	Warning string `json:"warning,omitempty"`
}

// PluginCall is the body of a plugin's command.
type PluginCall struct {
	Args []string `json:"args"`
}

// PluginResult is the result of a plugin's command. ExecLocal and FetchFile are the client's to do.
type PluginResult struct {
	Message string `json:"message"`
	// Applied is a line for each action the server did, in order.
	Applied   []string    `json:"applied"`
	ExecLocal []ExecLocal `json:"exec_local,omitempty"`
	FetchFile []FetchFile `json:"fetch_file,omitempty"`
}

// ExecLocal is a command the client runs at its own terminal.
type ExecLocal struct {
	Command []string `json:"command"`
}

// FetchFile is a file of the server's machine that the client copies.
type FetchFile struct {
	RemotePath string `json:"remote_path"`
	DestPath   string `json:"dest_path"`
	SizeBytes  int64  `json:"size_bytes,omitempty"`
}

// Envelope is the answer of the paths that plugins and their callers share.
type Envelope struct {
	// Status is ok or error.
	Status string          `json:"status"`
	Data   json.RawMessage `json:"data,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// StampBuildOf is the beginning of keys of a macro's Metadata.Stamps that end in an object the macro stands for
// (kind/scope/name): the digest of the tree that object is built from. The object gets it as its StampBuild.
const StampBuildOf = "build/"

// TreesWanted is the title of the problem that an apply ends with where what a macro stands for is built from source,
// and the macro's stamps don't name the trees. Nothing was stored.
const TreesWanted = "MacroTreesWanted"

// MacroBuild is an object a macro stands for that is built from source. Its context lies where the macro's manifest
// does.
type MacroBuild struct {
	Macro  Ref   `json:"macro"`
	Object Ref   `json:"object"`
	Build  Build `json:"build"`
}

// PluginDone is a plugin that an apply installed for a macro.
type PluginDone struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version,omitempty"`
	Source  string `json:"source,omitempty"`
}

// MacroResult lists the objects that a macro stands for.
type MacroResult struct {
	From Ref   `json:"from"`
	To   []Ref `json:"to"`
	// Actions lists the actions before the objects were stored; in a dry run, the planned ones.
	Actions []string `json:"actions,omitempty"`
	// Installed is the plugin the apply installed for it.
	Installed *PluginDone `json:"installed,omitempty"`
	Warnings  []string    `json:"warnings,omitempty"`
}
