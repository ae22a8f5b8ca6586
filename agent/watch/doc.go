// Package watch notices that a process of interest runs. It must not know what is done about it, nor clusters and files of configuration.
//
// There are two ways, called rungs. The kernel's proc connector reports each exec as it happens; a sweep over /proc, at an interval, needs
// nothing from the kernel and misses what comes and goes in between. An Observer uses the connector where it can and sweeps where it must,
// and takes the connector up again when that becomes possible. Behind the connector it still sweeps, slowly, for what makes no exec: a
// program that renames itself is found within SlowSweep.
//
// An Observer owns its goroutines: the loop, one that reads the feed, one for a sweep in progress, one while the feed is being opened. None
// of them outlives Run, except those that hang in the kernel with a read of a process's memory.
package watch
