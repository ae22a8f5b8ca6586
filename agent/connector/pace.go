package connector

import "time"

const (
	// paceWindow is how long execs are counted before it is decided whether they are dense.
	paceWindow = 20 * time.Millisecond
	// denseExecs in a window make it dense: 500 a second.
	denseExecs = 10
	// gather is how long an empty queue is left alone while execs are dense.
	gather = 2 * time.Millisecond
)

// pace tells when execs come so densely that being woken for each costs more than looking at it, as in a build. Letting a few of them gather
// then saves a third of the time that is taken from the owner. What lives for less than gather may be missed, as it may without.
type pace struct {
	began time.Time
	n     int
	dense bool
}

// exec counts one.
func (p *pace) exec(now time.Time) {
	p.n++
	p.turn(now)
}

// turn begins a new window once the last one is over. One that was stretched by silence is not dense.
func (p *pace) turn(now time.Time) {
	took := now.Sub(p.began)
	if took < paceWindow {
		return
	}
	p.dense = p.n >= denseExecs && took < 2*paceWindow
	p.began, p.n = now, 0
}
