// Package process reads processes from /proc, one after an exec or all of them in a sweep. The root is a value. It must not know where
// events come from or what is done about a hit.
package process
