package manager

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// fromEnvironment sets the flags that are not on the command line from variables: --leader-elect from FIVESPOT_LEADER_ELECT.
func fromEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var errs []error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := "FIVESPOT_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, there := lookup(name)
		if !there || flag.Changed {
			return
		}
		if err := flag.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s=%q: %w", name, value, err))
		}
	})
	return errors.Join(errs...)
}
