package cron

import (
	"errors"
	"strings"
	"testing"

	"github.com/kilnjobs/kiln/driver"
)

func TestParseNormalises(t *testing.T) {
	for spec, want := range map[string]string{
		"* * * * *":                         "* * * * *",
		"  0  7\t* *  * ":                   "0 7 * * *",
		"0 0 7 * * *":                       "0 7 * * *",
		"00 00 07 * * *":                    "0 7 * * *",
		"*/5 0 7 * * *":                     "*/5 0 7 * * *",
		"0-0 1 2 * * *":                     "0-0 1 2 * * *",
		"05,010 01-03/02 */08 01 jan,Feb *": "5,10 1-3/2 */8 1 JAN,FEB *",
		"0 0 ? * ?":                         "0 0 * * *",
		"0 0 ?,5 * mon-Fri/2":               "0 0 *,5 * MON-FRI/2",
		"0 0 l,L-03,lw,015w * *":            "0 0 L,L-3,LW,15W * *",
		"0 0 * * 5l,fri#02,007,sunL":        "0 0 * * 5L,FRI#2,7,SUNL",
		"0 0 * jan-mar/2 thu/3":             "0 0 * JAN-MAR/2 THU/3",
		"59/59 23/23 31/31 12/12 7/7":       "59/59 23/23 31/31 12/12 7/7",
		"@yearly":                           "@yearly",
		"@Annually":                         "@yearly",
		"@MONTHLY":                          "@monthly",
		"@weekly":                           "@weekly",
		" @Daily ":                          "@daily",
		"@midnight":                         "@daily",
		"@hourly":                           "@hourly",
		"@every 90m":                        "@every 1h30m0s",
		"@EVERY  1H":                        "@every 1h0m0s",
		"@every 1500ms":                     "@every 1s",
		"@every 1s":                         "@every 1s",
	} {
		s, err := Parse(spec)
		if err != nil {
			t.Errorf("%q: %v", spec, err)
			continue
		}
		if s.String() != want {
			t.Errorf("%q is normalised to %q, want %q", spec, s.String(), want)
		}
		again, err := Parse(s.String())
		if err != nil {
			t.Errorf("%q does not parse again: %v", s.String(), err)
		} else if *again != *s {
			t.Errorf("%q parses again to %+v, it was %+v", s.String(), *again, *s)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"":                                      "empty",
		" \t ":                                  "empty",
		"* * * *":                               "4 fields",
		"* * * * * * *":                         "7 fields",
		"0 0 1 1 * * 2027":                      "7 fields",
		"TZ=UTC * * * * *":                      "time zone",
		"CRON_TZ=Asia/Tokyo 0 7 * * *":          "time zone",
		"60 * * * *":                            "minute: 60 is outside of 0-59",
		"60 * * * * *":                          "second: 60 is outside of 0-59",
		"* 24 * * *":                            "hour: 24 is outside of 0-23",
		"* * 0 * *":                             "day: 0 is outside of 1-31",
		"* * 32 * *":                            "day: 32 is outside of 1-31",
		"* * * 0 *":                             "month: 0 is outside of 1-12",
		"* * * 13 *":                            "month: 13 is outside of 1-12",
		"* * * * 8":                             "weekday: 8 is outside of 0-7",
		"-1 * * * *":                            `minute: "" is not a value`,
		"+1 * * * *":                            `"+1" is not a value from 0 to 59`,
		"1.5 * * * *":                           `"1.5" is not a value`,
		"*/0 * * * *":                           `step "0" of "*/0" is outside of 1-59`,
		"*/60 * * * *":                          "1-59",
		"* */24 * * *":                          "1-23",
		"* * */32 * *":                          "1-31",
		"* * * */13 *":                          "1-12",
		"* * * * */8":                           "1-7",
		"*/ * * * *":                            "step",
		"*/5/5 * * * *":                         "step",
		"/5 * * * *":                            "not a value",
		"5-1 * * * *":                           "backwards",
		"* * * * FRI-MON":                       "backwards",
		"* * * * SAT-SUN":                       "backwards",
		"1- * * * *":                            "not a value",
		"1-2-3 * * * *":                         "not a value",
		"1,,2 * * * *":                          "not a value",
		", * * * *":                             "not a value",
		"*5 * * * *":                            "not a value",
		"*-5 * * * *":                           "not a value",
		"? * * * *":                             "not a value",
		"* ? * * *":                             "not a value",
		"* * * ? *":                             "not a value",
		"* * ?/2 * *":                           "not a value",
		"MON * * * *":                           "not a value",
		"* * * MON *":                           "from JAN to DEC",
		"* * * * JAN":                           "from SUN to SAT",
		"* * L-0 * *":                           "1 to 30",
		"* * L-31 * *":                          "1 to 30",
		"* * L- * *":                            "1 to 30",
		"* * 0W * *":                            "0 is outside of 1-31",
		"* * 32W * *":                           "32 is outside of 1-31",
		"* * W * *":                             "not a value",
		"* * L/2 * *":                           "not a value",
		"* * 15W/2 * *":                         "not a value",
		"* * 1-15W * *":                         "not a value",
		"* L * * *":                             "not a value",
		"* * * * L":                             "not a value",
		"* * * * 8L":                            "8 is outside of 0-7",
		"* * * * 5L/2":                          "not a value",
		"* * * * 5#0":                           "1 to 5",
		"* * * * 5#6":                           "1 to 5",
		"* * * * 5#":                            "1 to 5",
		"* * * * #2":                            "not a value",
		"* * * * 1-5#2":                         "not a value",
		"* * 1#2 * *":                           "not a value",
		"99999999999999999999 * * * *":          "not a value",
		"@":                                     "is not one of",
		"@reboot":                               "is not one of",
		"@daily 5":                              "stands alone",
		"@every":                                "one duration",
		"@every 1h 30m":                         "one duration",
		"@every soon":                           "needs a duration",
		"@every 999ms":                          "below 1s",
		"@every -1h":                            "below 1s",
		"@every 0":                              "below 1s",
		"@every 5":                              "needs a duration",
		strings.Repeat("1,", 600) + "1 * * * *": "more than 1000",
	} {
		_, err := Parse(spec)
		if err == nil {
			t.Errorf("%q was taken", spec)
			continue
		}
		if !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an ErrInvalid with %q", spec, err, want)
		}
		if len(spec) < 50 && !strings.Contains(err.Error(), quote(spec)) {
			t.Errorf("%q: the error does not name the spec: %v", spec, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, spec := range []string{"* * * * *", "0 7 L-3,15W,LW * MON#2,5L", "@every 90m", "@Annually", "*/5 1-3/2 ?,4 JAN 7", "1/59 * * * *"} {
		f.Add(spec)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := Parse(spec)
		if err != nil {
			if !errors.Is(err, driver.ErrInvalid) {
				t.Fatalf("%q: %v", spec, err)
			}
			return
		}
		again, err := Parse(s.String())
		if err != nil || *again != *s {
			t.Fatalf("%q is normalised to %q, which parses to %+v, %v, not to %+v", spec, s.String(), again, err, s)
		}
	})
}
