// Package files reads credentials from files below one directory that an administrator chose when the operator was
// started, such as one that a Secrets Store driver or an agent mounted. A path cannot leave that directory, by dots or by
// symbolic links.
//
// A file that is in use is read again every few seconds, and a change is told to whoever asked. It must not decide who may
// name a file: only a ClusterRestEndpoint does.
package files
