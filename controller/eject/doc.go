// Package eject removes a machine from its child cluster without grace, because its owner wants it back now.
//
// A request on a Node becomes a durable record, status.reclaim, before Node or Machine is deleted. From then on every step is derived from that
// record and from what is there, so that a crash, a conflict or a lost watch at any point ends in the same state:
//
//	record stored ┐
//	Node cordoned ┴→ Node deleted ┐
//	pods deleted ─────────────────┴→ their containers dead, or waited for long enough → Machine deleted → Machine gone: phase Disabled
//
// Meanwhile the schedule is switched off and the events are stored; the request is cleared last. When the record cannot be stored, nothing of
// this happens but the cordon and the pods' deletion, and the request begins it again.
//
// spec.killSwitch brings the same about without a request: the spec is the order, status.termination its record, and there is no event, no hold and
// no request to clear.
//
// Steps are merged into the record that is stored: the replica that saw a step first says when it was, and one that has lost the Lease and is late
// takes nothing back.
//
// The record of a reclaim stays as a hold until the owner releases the machine: as long as it holds, no other controller creates the Machine, and a
// Node that shows up again is removed on sight.
//
// The package must not know schedules, nor how Machines are made.
package eject
