package reclaim

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxReasonBytes bounds a reason, in bytes of UTF-8.
const MaxReasonBytes = 256

// firstYear is older than any clock that can be believed. The zero time, and years before our era, could not even be stored.
const firstYear = 2000

// Request is one node's wish to leave.
type Request struct {
	Reason string
	// At is the time of the match, or of observation when the node gave none that can be true.
	At time.Time
}

// ProcessMatch is the reason of a request made because a process matched an entry of the configuration.
func ProcessMatch(entry string) string { return "process-match: " + entry }

// Annotations are the three annotations that make the request.
func (r Request) Annotations() map[string]string {
	return map[string]string{
		AnnotationRequested:   "true",
		AnnotationReason:      CleanReason(r.Reason),
		AnnotationRequestedAt: r.At.UTC().Format(time.RFC3339Nano),
	}
}

// RequestFrom reads the request off a Node's annotations. There is none unless AnnotationRequested is exactly "true". A missing,
// garbled or future time becomes observed.
func RequestFrom(annotations map[string]string, observed time.Time) (Request, bool) {
	if annotations[AnnotationRequested] != "true" {
		return Request{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, annotations[AnnotationRequestedAt])
	if err != nil || at.After(observed) || at.UTC().Year() < firstYear {
		at = observed
	}
	return Request{Reason: CleanReason(annotations[AnnotationReason]), At: at.UTC()}, true
}

// CleanReason makes a node's text fit for status, events and logs: printable, one line, at most MaxReasonBytes, never cut
// inside a character. What cannot be printed becomes '?'.
func CleanReason(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	return cut(s)
}

// cut keeps foreign text from filling a log. Its result is at most MaxReasonBytes long and never ends inside a character.
func cut(s string) string {
	if len(s) <= MaxReasonBytes {
		return s
	}
	end := MaxReasonBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
