package reclaimer

import (
	"errors"
	"log/slog"
	"time"

	"5spot.finos.org/node-reclaim/agent/node"
)

// loud is how often a refusal is repeated in the log: unlike an outage it does not end by itself.
const loud = time.Minute

// trouble is why the request is not on the Node yet.
type trouble struct {
	err    error
	logged time.Time
}

// report logs a trouble when it begins and when it changes its kind; a refusal also every minute.
func (t *trouble) report(log *slog.Logger, now time.Time, err error) {
	forbidden := errors.Is(err, node.ErrForbidden)
	same := t.err != nil && errors.Is(t.err, node.ErrForbidden) == forbidden
	t.err = err
	if same && (!forbidden || now.Sub(t.logged) < loud) {
		return
	}
	t.logged = now
	if forbidden {
		log.Error("REQUEST REFUSED: this machine asked to leave and the API server forbids it", "error", err)
		return
	}
	log.Warn("request not stored yet, trying on", "error", err)
}
