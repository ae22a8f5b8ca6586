package reclaimer

import (
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// pending is a request that is not on the Node yet. It belongs to one Node object: what the owner did to the last one is no reason to
// throw out the next.
type pending struct {
	request reclaim.Request
	// uid of that Node; empty while none was ever seen.
	uid string
}

// outlived says why the request must not be written any more, or nothing.
func (p *pending) outlived(v node.View, optedOut bool) string {
	switch {
	case v.Standing == node.Gone || v.Standing == node.Foreign:
		return v.Detail
	case optedOut:
		return "the Node's label is gone"
	case v.Standing == node.NoCredential && p.uid == "":
		return "there is no Node that it could belong to"
	case p.uid != "" && v.Node.UID != "" && p.uid != v.Node.UID:
		return "the Node was replaced"
	}
	return ""
}

// settlePending drops a request that has outlived its Node or is on the Node already, and binds a new one to the Node once it is known.
func (r *Reclaimer) settlePending() {
	if r.pending == nil {
		return
	}
	if why := r.pending.outlived(r.view, r.optedOut()); why != "" {
		r.opts.Log.Warn("request dropped", "reason", r.pending.request.Reason, "why", why)
		r.pending = nil
		return
	}
	if _, there := reclaim.RequestFrom(r.view.Node.Annotations, r.opts.Clock.Now()); there {
		r.pending = nil
		return
	}
	if r.pending.uid == "" {
		r.pending.uid = r.view.Node.UID
	}
}
