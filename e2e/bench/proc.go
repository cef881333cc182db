package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor times in /proc on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// processTimes are one process's in /proc.
type processTimes struct {
	parent int
	// own is what it used, children what ended children used that were waited for.
	own, children time.Duration
}

// parseStat reads the text of /proc/PID/stat. The name in it may hold anything, also a parenthesis.
func parseStat(text []byte) (processTimes, error) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return processTimes{}, fmt.Errorf("stat of a process: no name in %q", text)
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 15 {
		return processTimes{}, fmt.Errorf("stat of a process: too short: %q", text)
	}
	var numbers [5]int
	for i, field := range []int{1, 11, 12, 13, 14} { // ppid utime stime cutime cstime
		n, err := strconv.Atoi(fields[field])
		if err != nil {
			return processTimes{}, fmt.Errorf("stat of a process: %w", err)
		}
		numbers[i] = n
	}
	return processTimes{
		parent: numbers[0], own: time.Duration(numbers[1]+numbers[2]) * tick, children: time.Duration(numbers[3]+numbers[4]) * tick,
	}, nil
}

func timesOf(pid int) (processTimes, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processTimes{}, err
	}
	return parseStat(text)
}

// ourTime is what this process and all its descendants have used so far.
func ourTime() (time.Duration, error) {
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	all := map[int]processTimes{}
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			continue
		}
		if times, err := timesOf(pid); err == nil { // otherwise it has ended since
			all[pid] = times
		}
	}
	return familyTime(all, os.Getpid()), nil
}

func familyTime(all map[int]processTimes, root int) time.Duration {
	total := all[root].own + all[root].children
	for pid, times := range all {
		if times.parent == root && pid != root {
			total += familyTime(all, pid)
		}
	}
	return total
}

// busyTime is what the whole machine has used so far, from the text of /proc/stat.
func busyTime(text string) (time.Duration, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	total := 0
	for i, field := range fields[1:9] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i != 3 && i != 4 { // idle and waiting for disks
			total += n
		}
	}
	return time.Duration(total) * tick, nil
}

// resetPeak makes the kernel forget the most memory that a process had, so that the next reading is of one scenario.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemory is the most resident memory since resetPeak, in MiB.
func peakMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parsePeak(string(text))
}

func parsePeak(text string) (float64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")))
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in the status of a process")
}
