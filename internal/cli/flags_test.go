package cli

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// numbersOf returns the numbers in options by their path; those of embedded options go by their own name.
func numbersOf(options reflect.Value, path string) map[string]int64 {
	out := map[string]int64{}
	for i := range options.NumField() {
		field, name := options.Field(i), path+options.Type().Field(i).Name
		if options.Type().Field(i).Anonymous {
			name = strings.TrimSuffix(path, ".")
		}
		switch {
		case !options.Type().Field(i).IsExported():
		case field.CanInt():
			out[name] = field.Int()
		case field.Kind() == reflect.Struct:
			maps.Copy(out, numbersOf(field, strings.TrimPrefix(name+".", ".")))
		}
	}
	return out
}

// TestEveryNumberHasItsFlag: each flag that is a time, a size or a number sets one option, and no other flag sets it.
// What the server does with its options is shown in internal/server/daemon.
func TestEveryNumberHasItsFlag(t *testing.T) {
	var flags serverFlags
	command := &cobra.Command{Use: "server"}
	flags.add(command)
	options := reflect.ValueOf(&flags.options).Elem()
	unset := numbersOf(options, "")
	delete(unset, "Build.MaxBytes") // a variable sets it: maxTree
	next := int64(5000)
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		next++
		text, want := strconv.FormatInt(next, 10), next
		switch flag.Value.Type() {
		case "duration":
			text, want = text+"s", next*int64(time.Second)
		case "int", "int64":
		default:
			return
		}
		before := numbersOf(options, "")
		if err := command.Flags().Set(flag.Name, text); err != nil {
			t.Fatal(err)
		}
		var set []string
		for name, value := range numbersOf(options, "") {
			if value != before[name] {
				set = append(set, name)
			}
		}
		if len(set) != 1 || numbersOf(options, "")[set[0]] != want {
			t.Errorf("--%s %s sets %v of %v", flag.Name, text, set, numbersOf(options, ""))
		}
		for _, name := range set {
			if _, left := unset[name]; !left {
				t.Errorf("--%s sets %s, as another flag does", flag.Name, name)
			}
			delete(unset, name)
		}
	})
	if len(unset) > 0 {
		t.Errorf("no flag sets %v", slices.Sorted(maps.Keys(unset)))
	}
}
