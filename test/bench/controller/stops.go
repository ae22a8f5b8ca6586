package main

import "errors"

// stops are how to end what was started.
type stops []func() error

func (s *stops) add(end func() error) { *s = append(*s, end) }

// stop ends everything, last first.
func (s *stops) stop() error {
	var errs []error
	for i := len(*s) - 1; i >= 0; i-- {
		errs = append(errs, (*s)[i]())
	}
	*s = nil
	return errors.Join(errs...)
}
