package process

import (
	"io"
	"os"
	"strings"
)

// tail returns the last lines of a log file. It is best effort: it stands in an error about something else.
func tail(path string) string {
	const limit = 4 << 10
	file, err := os.Open(path)
	if err != nil {
		return "(no log)"
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > limit {
		if _, err := file.Seek(-limit, io.SeekEnd); err != nil {
			return "(no log)"
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return "(no log)"
	}
	return strings.TrimSpace(string(text))
}
