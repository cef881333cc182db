package httpapi

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)
	later := now.Add(90 * time.Second)
	cases := map[string]struct {
		header string
		want   time.Duration
	}{
		"absent":                    {"", 0},
		"seconds":                   {"7", 7 * time.Second},
		"seconds with white space":  {" 7 ", 7 * time.Second},
		"zero":                      {"0", 0},
		"leading zeros":             {"007", 7 * time.Second},
		"negative":                  {"-5", 0},
		"a fraction":                {"1.5", 0},
		"words":                     {"soon", 0},
		"more than a day":           {"86401", 24 * time.Hour},
		"more than any integer":     {strings.Repeat("9", 400), 24 * time.Hour},
		"a date of RFC 1123":        {later.Format(http.TimeFormat), 90 * time.Second},
		"a date of RFC 850":         {later.Format("Monday, 02-Jan-06 15:04:05 GMT"), 90 * time.Second},
		"a date of ANSI C":          {later.Format(time.ANSIC), 90 * time.Second},
		"a date in the past":        {now.Add(-time.Hour).Format(http.TimeFormat), 0},
		"a date in the far future":  {now.AddDate(5, 0, 0).Format(http.TimeFormat), 24 * time.Hour},
		"a date that is none":       {"Sat, 99 Nov 2026 06:00:00 GMT", 0},
		"digits of another writing": {"٧", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retryAfter(tc.header, now); got != tc.want {
				t.Errorf("retryAfter(%q) = %v, want %v", tc.header, got, tc.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("7")
	f.Add("Sat, 21 Nov 2026 06:00:00 GMT")
	f.Fuzz(func(t *testing.T, header string) {
		if got := retryAfter(header, time.Unix(0, 0)); got < 0 || got > longestRetryAfter {
			t.Errorf("retryAfter(%q) = %v", header, got)
		}
	})
}
