// Package crash proves that nothing outside is doubled or lost: the operator runs as a child process against a real
// control plane and a REST server that checks every change as it is made, and is killed at named points and at random
// moments, fed with faults, and robbed of its API server and its annotations. It is for tests alone.
package crash
