// Package report is what the REST server of the tests tells about itself.
package report

// Report is the answer of GET /_report.
type Report struct {
	// Changes are all requests that ask for a change, in order of arrival.
	Changes []Change `json:"changes"`
	// Looks counts the other requests; LastAgent is who sent the last of them.
	Looks     int    `json:"looks"`
	LastAgent string `json:"lastAgent"`
	// Last is the number of the last request of any kind.
	Last int `json:"last"`
	// Duplicates counts the things that were made while another of the same custom resource was there.
	Duplicates int `json:"duplicates"`
}

// Change is one request that asks for a change.
type Change struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	// Agent is the program that sent it, with its version.
	Agent string `json:"agent"`
}

// Count is how many changes of a method there were.
func (r Report) Count(method string) int {
	count := 0
	for _, change := range r.Changes {
		if change.Method == method {
			count++
		}
	}
	return count
}
