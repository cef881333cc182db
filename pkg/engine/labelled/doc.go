// Package labelled watches the core objects that carry one label, and keeps of them only what their metadata tell: what
// stands in them never enters the memory of the process. It is how the operator hears of changes of Secrets that are open
// to it, and of what it wrote itself.
package labelled
