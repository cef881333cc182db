package console

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	texttemplate "text/template"
	"time"
	"unicode"

	"github.com/go-logr/logr"
	"github.com/munnerz/goautoneg"
)

var (
	//go:embed page.html
	pageText string
	//go:embed table.txt
	tableText string

	functions = map[string]any{"ago": ago, "states": func() []State { return []State{Stalled, Deleting, Progressing, Ready} }}
	page      = template.Must(template.New("page").Funcs(functions).Parse(pageText))
	table     = texttemplate.Must(texttemplate.New("table").Funcs(functions).Parse(tableText))
)

// The forms of a report.
const (
	asHTML = "html"
	asJSON = "json"
	asText = "text"
)

func (c *console) status(w http.ResponseWriter, r *http.Request) {
	f, err := parseFilter(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	report, err := c.report(r.Context(), f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	switch form := formOf(r); form {
	case asHTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = page.Execute(w, struct {
			Report
			Filter filterOfPage
		}{report, filterOfPage{f.mapping, f.namespace, string(f.state)}})
	case asJSON:
		err = writeJSON(w, http.StatusOK, report)
	case asText:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		err = writeTable(w, report)
	default:
		http.Error(w, fmt.Sprintf("format %q is none of %s, %s and %s", form, asHTML, asJSON, asText), http.StatusBadRequest)
	}
	if err != nil { // the reader has gone
		logr.FromContextOrDiscard(r.Context()).V(1).Info("the report was not read to its end", "error", err.Error())
	}
}

type filterOfPage struct{ Mapping, Namespace, State string }

// formOf is the form that is asked for: by ?format=, else by the header Accept, else a table.
func formOf(r *http.Request) string {
	if form := r.URL.Query().Get("format"); form != "" {
		return form
	}
	forms := map[string]string{"text/html": asHTML, "application/json": asJSON, "text/plain": asText}
	if form, ok := forms[goautoneg.Negotiate(r.Header.Get("Accept"), []string{"text/plain", "application/json", "text/html"})]; ok {
		return form
	}
	return asText
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// writeTable writes a report for a terminal.
func writeTable(w io.Writer, r Report) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := table.Execute(aligned, r); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if err := aligned.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// Headline is what stands above a report.
func (r Report) Headline() string {
	text := "RestMapping operator " + r.Version + ", " + r.Time.Format(time.RFC3339)
	switch {
	case r.Leading:
		return text
	case r.Leader == "":
		return text + ". This replica stands by: objects are known to the leader alone, and there is none now."
	default:
		return text + ". This replica stands by: ask the leader, pod " + r.Leader + ", for objects."
	}
}

// Why is the reason and message of an object on one line, empty for what is ready and has nothing to say.
func (o ObjectReport) Why() string {
	if o.State == Ready && o.Message == "" {
		return ""
	}
	return strings.TrimSuffix(o.Reason+": "+oneLine(o.Message), ": ")
}

func verdict(ready bool, reason, message string) string {
	switch {
	case ready:
		return "Ready"
	case reason == "":
		return "Unknown"
	default:
		return strings.TrimSuffix(reason+": "+oneLine(message), ": ")
	}
}

// Verdict tells how the mapping goes on one line.
func (m MappingReport) Verdict() string { return verdict(m.Ready, m.Reason, m.Message) }

// Verdict tells how the endpoint goes on one line.
func (e EndpointReport) Verdict() string { return verdict(e.Ready, e.Reason, e.Message) }

// oneLine keeps a terminal from obeying what a server has said.
func oneLine(text string) string {
	printable := func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}
	return strings.Join(strings.Fields(strings.Map(printable, text)), " ")
}

func ago(now time.Time, at *time.Time) string {
	if at == nil {
		return ""
	}
	return now.Sub(*at).Round(time.Second).String()
}
