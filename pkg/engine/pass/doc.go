// Package pass carries out one look at one custom resource: it resolves what is needed from caches, asks
// lifecycle.Next for the next step, executes that step, and in the end writes the status if it changed. It executes;
// it does not decide. What a request looks like is pkg/mapping's, what an answer means and what to do next is
// pkg/lifecycle's. It must never hold an opinion about retrying or about JSON shapes.
package pass
