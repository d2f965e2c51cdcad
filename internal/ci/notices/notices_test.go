package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryLinkedModuleIsNamed: every module that `go list` reports as linked is in the file, with its licence texts.
func TestEveryLinkedModuleIsNamed(t *testing.T) {
	linked, err := list("tend.dev/tend/cmd/tend")
	if err != nil {
		t.Fatal(err)
	}
	text, err := notices("tend.dev/tend/cmd/tend")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, p := range linked {
		if p.Module == nil || p.Module.Main {
			continue
		}
		named++
		_, numbers, ok := strings.Cut(string(text), "\n"+p.Module.Path+" "+p.Module.Version+" ")
		if numbers, _, _ = strings.Cut(numbers, "\n"); !ok || numbers == "" {
			t.Errorf("%s is linked, and the notices don't name it", p.Module.Path)
		}
		for _, number := range strings.Fields(numbers) {
			if !bytes.Contains(text, []byte("\n"+number+" ")) {
				t.Errorf("%s is under %s, which is not there", p.Module.Path, number)
			}
		}
	}
	if named < 100 {
		t.Errorf("%d packages of modules were checked", named)
	}
	for _, phrase := range []string{"Go's standard library go1.", "Apache License", "Mozilla Public License",
		"Permission is hereby granted"} {
		if !bytes.Contains(text, []byte(phrase)) {
			t.Errorf("the notices lack %q", phrase)
		}
	}
	if bytes.Contains(text, []byte("go-md2man")) {
		t.Error("the binary links what renders manual pages")
	}
	if again, err := notices("tend.dev/tend/cmd/tend"); err != nil || !bytes.Equal(text, again) {
		t.Errorf("a second run writes another file (%v)", err)
	}
}

// TestAModuleWithoutALicenceIsAnError: such a module must not be passed on, so the build ends.
func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		files   []string
		refused bool
	}{
		"a licence":          {[]string{"LICENSE"}, false},
		"with an ending":     {[]string{"LICENSE.md", "NOTICE"}, false},
		"spelled otherwise":  {[]string{"LICENCE"}, false},
		"nothing":            {nil, true},
		"only a notice":      {[]string{"NOTICE", "PATENTS"}, true},
		"source of the name": {[]string{"license.go"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, file := range test.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte("text"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := complete(map[string]*module{"a.test/b": {name: "a.test/b", version: "v1", files: licencesIn(folder)}})
			if refused := err != nil && strings.Contains(err.Error(), "a.test/b v1"); refused != test.refused {
				t.Errorf("%v, want refused %v", err, test.refused)
			}
		})
	}
}

// TestALicenceBelowAModule: code of another origin below a module is under its own licence.
func TestALicenceBelowAModule(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "internal", "copied")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for folder, text := range map[string]string{root: "outer", below: "inner"} {
		if err := os.WriteFile(filepath.Join(folder, "LICENSE"), []byte(text+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := linkedPackage{Dir: below}
	one.Module = &struct {
		Path, Version, Dir string
		Main               bool
	}{Path: "a.test/b", Version: "v1", Dir: root}
	modules, err := collect([]linkedPackage{one, one})
	if err != nil {
		t.Fatal(err)
	}
	text, err := render(modules)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\na.test/b v1 [1] [2]\n", "] LICENSE of a.test/b\n\nouter\n",
		"] LICENSE of a.test/b\n\ninner\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
