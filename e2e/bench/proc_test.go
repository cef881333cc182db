package main

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	rest := " S 7 1 1 0 -1 4194560 100 0 0 0 30 12 5 1 20 0 9 0 100 0 0"
	cases := map[string]struct {
		text string
		ok   bool
	}{
		"an ordinary name":              {"42 (operator)" + rest, true},
		"a name with a space and a )":   {"42 (a ) b)" + rest, true},
		"no name":                       {"42 operator S 7", false},
		"too few fields":                {"42 (operator) S 7 1", false},
		"a field that is not a number":  {"42 (operator) S x 1 1 0 -1 4194560 100 0 0 0 30 12 5 1 20", false},
		"nothing, of an ended process":  {"", false},
		"times that are not numbers":    {"42 (operator) S 7 1 1 0 -1 4194560 100 0 0 0 30 twelve 5 1 20", false},
		"a name that looks like fields": {"42 (1 2 3)" + rest, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStat([]byte(tc.text))
			if (err == nil) != tc.ok {
				t.Fatalf("error %v", err)
			}
			if want := (processTimes{parent: 7, own: 420 * time.Millisecond, children: 60 * time.Millisecond}); tc.ok && got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestFamilyTimeCountsDescendantsAlone(t *testing.T) {
	t.Parallel()
	all := map[int]processTimes{
		1: {parent: 0, own: time.Hour},
		2: {parent: 1, own: 1 * time.Second, children: 10 * time.Second},
		3: {parent: 2, own: 2 * time.Second},
		4: {parent: 3, own: 4 * time.Second, children: 20 * time.Second},
		5: {parent: 1, own: time.Hour},
	}
	if got := familyTime(all, 2); got != 37*time.Second {
		t.Errorf("got %s", got)
	}
}

func TestBusyTime(t *testing.T) {
	t.Parallel()
	got, err := busyTime("cpu  100 20 30 99999 5000 1 2 3 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if err != nil || got != 1560*time.Millisecond {
		t.Errorf("got %s, %v: idle and waiting for disks do not count", got, err)
	}
	for _, text := range []string{"", "intr 1 2 3", "cpu 1 2", "cpu  a 1 1 1 1 1 1 1"} {
		if _, err := busyTime(text); err == nil {
			t.Errorf("%q must be refused", text)
		}
	}
}

func TestPeakMemory(t *testing.T) {
	t.Parallel()
	got, err := parsePeak("VmPeak:\t  999999 kB\nVmHWM:\t   51200 kB\nVmRSS:\t 1 kB\n")
	if err != nil || got != 50 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parsePeak("VmRSS:\t 1 kB\n"); err == nil {
		t.Error("a status without the line must be refused")
	}
}

func TestTheKernelIsUnderstood(t *testing.T) {
	t.Parallel()
	if err := resetPeak(os.Getpid()); err != nil {
		t.Skipf("not a Linux where peaks can be reset: %v", err)
	}
	if mib, err := peakMemory(os.Getpid()); err != nil || mib < 1 {
		t.Errorf("peak memory %v, %v", mib, err)
	}
	times, err := timesOf(os.Getpid())
	if err != nil || times.parent != os.Getppid() {
		t.Errorf("times %+v, %v", times, err)
	}
	if ours, err := ourTime(); err != nil || ours < times.own {
		t.Errorf("our time %s, %v", ours, err)
	}
}
