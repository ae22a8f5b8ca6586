package command

import (
	"fmt"
	"log/slog"
)

// logger writes one line per event. Under systemd the journal knows the time already.
func logger(env Env, format string) (*slog.Logger, error) {
	options := &slog.HandlerOptions{}
	if env.Getenv("JOURNAL_STREAM") != "" {
		options.ReplaceAttr = withoutTime
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(env.Err, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(env.Err, options)), nil
	}
	return nil, &codedError{ExitUsage, fmt.Errorf("--log-format %q: want text or json", format)}
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
