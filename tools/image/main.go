// The program image makes an image from a program that is already built: one layer with one file, for each architecture, under one
// index. It needs no container engine and no network. The same binaries give the same bytes.
//
//	image -name localhost/5spot-controller:v1 -version v1 -user 65532:65532 -about "What it does" -out bin/image/5spot-controller
//	  amd64=bin/linux-amd64/5spot-controller arm64=bin/linux-arm64/5spot-controller
//
// writes an OCI layout into the directory -out, for a registry, and the same as one file beside it, with .tar behind its name, for containerd.
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
	flag.StringVar(&d.user, "user", "", "the UID:GID that the program runs as")
	flag.StringVar(&d.about, "about", "", "what the program does, in one sentence")
	out := flag.String("out", "", "the directory to write, and, with .tar behind it, the file")
	flag.Parse()
	if err := run(d, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(d description, out string, args []string) error {
	if d.name == "" || d.version == "" || d.user == "" || d.about == "" || out == "" || len(args) == 0 {
		return fmt.Errorf("wanted: -name NAME -version VERSION -user UID:GID -about TEXT -out DIRECTORY ARCHITECTURE=BINARY...")
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
