package reclaim

import "strings"

// broadBytes is how short a plain word must be to be found by chance: "java", "idea" and "steam" are parts of file names and options that have
// nothing to do with these programs; "steamwebhelper" is not.
const broadBytes = 8

// BroadSubstrings are the entries of match_argv_substrings that match more than programs of that name: short words without a '/', '.' or
// space to tie them to a path, a file name or an option with its value. `less java.txt` matches "java".
func (c Config) BroadSubstrings() []string {
	var broad []string
	for _, entry := range c.MatchArgvSubstrings {
		if len(entry) < broadBytes && !strings.ContainsAny(entry, "/. ") {
			broad = append(broad, entry)
		}
	}
	return broad
}
