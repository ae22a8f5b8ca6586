package schedule

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
)

// star is the bit by which the cron library marks a field that was given as * or ?.
const star = 1 << 63

// parseCron reads a crontab line's five fields. Only the library's parser is used: its clock stops once a minute, ours needs the
// end of a run of minutes as well.
func parseCron(text string) (calendar, error) {
	parsed, err := cronFields(strings.TrimSpace(text))
	if err != nil {
		return calendar{}, fmt.Errorf("spec.schedule.cron: %q: %w; give minute, hour, day of month, month and day of week, "+
			"for example '* 9-17 * * 1-5'", text, err)
	}
	return calendar{
		minutes:   parsed.Minute & allMinutes,
		hours:     parsed.Hour & allHours,
		dates:     parsed.Dom,
		months:    parsed.Month,
		weekdays:  parsed.Dow,
		eitherDay: parsed.Dom&star == 0 && parsed.Dow&star == 0,
	}, nil
}

// cronFields refuses what the library would let pass: a zone of the line's own beside spec.schedule.timezone, an empty element of a
// list, and "*-5", of which it drops the 5.
func cronFields(text string) (*cron.SpecSchedule, error) {
	if strings.HasPrefix(text, "@") || strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return nil, errors.New("descriptors and time zones do not belong here; the zone is spec.schedule.timezone")
	}
	for _, field := range strings.Fields(text) {
		for element := range strings.SplitSeq(field, ",") {
			if element == "" || strings.HasPrefix(element, "*-") || strings.HasPrefix(element, "?-") {
				return nil, fmt.Errorf("%q is not a list of numbers and ranges", field)
			}
		}
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return nil, err
	}
	return parsed.(*cron.SpecSchedule), nil
}
