// Package match decides whether a process means that the owner is back. It is pure: a process is a value, and so is the place from
// which its cgroups were read. It must not know /proc, sockets, clusters or time.
//
// A Matcher answers twice. MayMatchComm and MayMatchArgs are cheap and look at the two things that are read of every process; they
// never say no to a process that matches. Judge has the last word, over everything that is known of one process.
package match
