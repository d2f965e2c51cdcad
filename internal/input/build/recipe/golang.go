package recipe

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"tend.dev/tend/api/pattern"
)

// The relevant patterns in Go's files.
var (
	goMain    = pattern.Lazy(`(?m)^package\s+main\b`)
	goPackage = pattern.Lazy(`(?m)^package\s+\w+`)
	goIgnored = pattern.Lazy(`(?m)^//go:build\s+ignore\s*$`)
	// goReplaced matches a module that is replaced by a folder.
	goReplaced = pattern.Lazy(`=>\s*(\.\.?/\S*)`)
)

// golang writes a Dockerfile for a static program on a small image.
func (d *dockerfile) golang(c *contents, tree fs.FS, r Recipe) {
	d.base(c, "golang:"+orVersion(r.Version, "1")+"-alpine", "build")
	whole, ahead := c.goNeeds(tree, r)
	switch {
	case whole:
		d.add("WORKDIR /src")
		d.add("COPY . .")
		d.add("WORKDIR %s", workdir.Replace(path.Join("/src", r.Folder)))
	default:
		d.add("WORKDIR /src")
		if ahead {
			d.copy(r, "", c.those("go.mod", "go.sum")...)
			d.add("RUN go mod download")
		}
		d.copy(r, "")
	}
	target := r.Target
	if target != "." {
		target = "./" + target
	}
	d.add("RUN CGO_ENABLED=0 go build -trimpath -o /out/app %s", quoted(target))
	d.add("")
	d.base(c, "alpine:3", "")
	d.add("RUN apk add --no-cache ca-certificates tzdata")
	d.add("COPY --from=build /out/app /app")
	d.add("USER nobody")
	d.add("ENTRYPOINT %s", argv("/app"))
}

var workdir = strings.NewReplacer("$", `\$`)

// goNeeds returns the inputs of a Go build: whole if the module refers to folders beside its own, so the build needs
// the whole tree; ahead if the modules can be downloaded before the source is copied.
func (c *contents) goNeeds(tree fs.FS, r Recipe) (whole, ahead bool) {
	replaced := goReplaced().FindAllStringSubmatch(c.text("go.mod"), -1)
	for _, match := range replaced {
		whole = whole || strings.HasPrefix(path.Clean(match[1]), "..")
	}
	if r.Folder != "." {
		for folder := path.Dir(r.Folder); ; folder = path.Dir(folder) {
			whole = whole || isFile(tree, path.Join(folder, "go.work"))
			if folder == "." {
				break
			}
		}
	}
	return whole, len(replaced) == 0 && c.has("go.mod") && !c.has("go.work") && !c.has("vendor/modules.txt")
}

// mainPackage returns the folder of the program: the declared one, the module's root, or the only folder in cmd.
func (c *contents) mainPackage() (string, error) {
	if declared := strings.TrimPrefix(path.Clean("/"+c.build.Path), "/"); declared != "" {
		if isMain, isPackage := c.goPackage(declared); isPackage && !isMain {
			return "", &UndecidedError{Why: fmt.Sprintf("%s is not a program but a package of others", declared),
				Next: "name in build.path a folder of package main"}
		}
		return declared, nil
	}
	isMain, isPackage := c.goPackage(".")
	if isMain {
		return ".", nil
	}
	var found []string
	commands, _ := fs.ReadDir(c.FS, "cmd") // cmd may be missing
	for _, entry := range commands {
		folder := path.Join("cmd", entry.Name())
		if isMain, _ := c.goPackage(folder); isMain {
			found = append(found, folder)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", &UndecidedError{Why: "the module has more than one program: " + strings.Join(found, ", "),
			Next: "name one with build { path = … }"}
	case isPackage:
		return "", &UndecidedError{Why: "the module's own folder and cmd hold no program",
			Next: "name its folder with build { path = … }, or another module with build { context = … }"}
	}
	return ".", nil // the compiler reports the missing package
}

// maxGoFiles bounds how many files of a package are read: all have the same package clause.
const maxGoFiles = 100

// goPackage reports whether a folder holds a Go package, and whether the package is a program.
func (c *contents) goPackage(folder string) (isMain, isPackage bool) {
	entries, err := fs.ReadDir(c.FS, folder)
	if err != nil {
		return false, false
	}
	for _, entry := range entries[:min(maxGoFiles, len(entries))] {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text := c.text(path.Join(folder, name))
			if goIgnored().MatchString(text) {
				continue
			}
			isMain = isMain || goMain().MatchString(text)
			isPackage = isPackage || goPackage().MatchString(text)
		}
	}
	return isMain, isPackage
}
