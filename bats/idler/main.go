// Command idler is a process for tests to look at: it does nothing, accepts any arguments, and goes by the name of the file it was copied to
// or by the one in IDLER_COMM. It must not know who looks at it.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if name, ok := os.LookupEnv("IDLER_COMM"); ok {
		if err := os.WriteFile("/proc/self/comm", []byte(name), 0); err != nil {
			fmt.Fprintln(os.Stderr, "idler: renaming itself:", err)
			os.Exit(1)
		}
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
}
