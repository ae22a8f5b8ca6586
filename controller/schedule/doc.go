// Package schedule answers when a machine belongs to its cluster: whether an instant is covered by spec.schedule, and when
// that next changes. It is pure: instants are handed in and handed out, and it knows neither the clock nor the API.
// It also ignores spec.schedule.enabled, which is a decision about the machine and not about time.
//
// # What counts as covered
//
// The wall clock of the zone decides. With daysOfWeek and hoursOfDay an instant is covered when its weekday and its hour are
// both listed, each by itself. hoursOfDay 9-17 includes the hour 17 and so ends at 18:00. A range that wraps is the same as
// listing its hours: daysOfWeek [fri] with hoursOfDay [22-6] covers Friday from 00:00 to 07:00 and from 22:00 to midnight. The
// small hours belong to the calendar day they lie in, not to the evening before; to keep a machine through Friday night,
// list sat as well.
//
// With cron, every minute that the five fields match is covered, from its first to its last second: "* 9-17 * * 1-5" is a
// window, "0 9-17 * * 1-5" is one minute an hour. When day of month and day of week are both restricted, one of them is
// enough, as in crontab. Sunday is 0.
//
// When clocks go forward, the hours they skip do not happen; when they go back, the hours they repeat happen twice.
package schedule
