// The program image makes the image of the node agent from binaries that are already built: one layer with one file, for each
// architecture, under one index. It needs no container engine and no network. The same binaries give the same bytes.
//
//	image -name localhost/5spot-reclaim-agent:v1 -version v1 -out bin/image amd64=bin/linux-amd64/agent arm64=bin/linux-arm64/agent
//
// writes an OCI layout into bin/image, for a registry, and the same as one file, bin/image.tar, for containerd.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	d := description{}
	flag.StringVar(&d.name, "name", "", "the image's full name, with its tag")
	flag.StringVar(&d.version, "version", "", "the version that the image is labelled with")
	out := flag.String("out", "", "the directory to write, and, with .tar behind it, the file")
	flag.Parse()
	if err := run(d, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(d description, out string, args []string) error {
	if d.name == "" || d.version == "" || out == "" || len(args) == 0 {
		return fmt.Errorf("wanted: -name NAME -version VERSION -out DIRECTORY ARCHITECTURE=BINARY...")
	}
	created, err := sourceDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	d.created = created
	for _, arg := range args {
		architecture, path, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not ARCHITECTURE=BINARY", arg)
		}
		d.binaries = append(d.binaries, binary{architecture, path})
	}
	return write(d, out)
}

// sourceDate is the moment that reproducible builds stamp on what they make: the environment's, else the epoch.
func sourceDate(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH=%q is not a number of seconds", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}
