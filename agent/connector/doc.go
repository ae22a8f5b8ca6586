// Package connector reports every exec on the host, from the kernel's process events connector (netlink, NETLINK_CONNECTOR). It must
// not know what becomes of them: /proc, matching and logging are elsewhere.
//
// A Conn proves that it is heard. Dial returns one only after the kernel has acknowledged our own request: in another PID or user
// namespace the kernel ignores requests, yet lets events of the host through as long as anybody else listens. The same proof is asked for
// again whenever the feed has been silent for a while; without it Next fails, and the caller dials anew.
//
// The socket is a plain one of golang.org/x/sys/unix, read without the runtime's poller, so that events can gather while they are dense.
// Netlink libraries are built around dumps and take messages of type DONE, which is what all events are, for the end of one.
//
// Kernels before 6.6 count requests to listen but take back only one with a request to ignore. There the kernel goes on making events
// that nobody reads, a microsecond each, once a program that asked twice has ended.
package connector
