package installer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
)

// recordSchema is the form of installed.json. A form that is not known is not guessed at.
const recordSchema = 1

// Owner is the Node and the machine that the agent is installed for.
type Owner struct {
	NodeName  string `json:"nodeName"`
	NodeUID   string `json:"nodeUID"`
	MachineID string `json:"machineID"`
}

// Record is installed.json: what is ours on this host. It is there before the first file, and goes after the last.
type Record struct {
	Schema int `json:"schema"`
	// Version of the agent that was installed.
	Version string `json:"version"`
	Owner
	Files []Entry `json:"files"`
}

// Entry is one file.
type Entry struct {
	Path string `json:"path"`
	// SHA256 of the content; two of them while one is being replaced by the other.
	SHA256 []string `json:"sha256"`
	// Mode in octal, as chmod takes it.
	Mode string `json:"mode"`
}

func octal(mode fs.FileMode) string { return "0" + strconv.FormatUint(uint64(mode), 8) }

// entry of a path; nil when it is not ours.
func (r *Record) entry(path string) *Entry {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Files, func(e Entry) bool { return e.Path == path })
	if i < 0 {
		return nil
	}
	return &r.Files[i]
}

// unchanged says that what is at the entry's path is what was put there.
func (e *Entry) unchanged(f hostfs.File) bool {
	return f.Kind == hostfs.Regular && slices.Contains(e.SHA256, f.Hash)
}

// settled is the record once every file is the new one.
func (r Record) settled() Record {
	r.Files = slices.Clone(r.Files)
	for n := range r.Files {
		r.Files[n].SHA256 = r.Files[n].SHA256[:1]
	}
	return r
}

func readRecord(files Files) (*Record, error) {
	text, err := files.Read(RecordPath)
	if err != nil || text == nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, badRecord(err)
	}
	if r.Schema != recordSchema {
		return nil, badRecord(fmt.Errorf("schema %d, want %d", r.Schema, recordSchema))
	}
	return &r, nil
}

func badRecord(why error) *Refusal {
	return refuse(ReasonForeignFile, "%s is not understood (%v): use the version that wrote it, or remove the agent by hand (%s, %s) "+
		"and then this file", RecordPath, why, ProgramPath, UnitPath)
}

func writeRecord(files Files, r Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.Replace(RecordPath, bytes.NewReader(append(text, '\n')), textMode)
}
