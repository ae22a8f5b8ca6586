// Package scheduledmachine leads a ScheduledMachine through its ordinary life: created when its schedule begins, removed when it ends, tidied
// up when it is deleted.
//
// It never creates while an emergency removal holds the machine (package eject), and it decides that on the API server's answer, read after the
// answer that the Machine is gone: the record of a removal is stored before its Machine is deleted, so a Machine that is missing because of a
// removal is always explained by the read that follows.
package scheduledmachine
