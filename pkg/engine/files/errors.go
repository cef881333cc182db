package files

import "fmt"

// NotFoundError says that a file does not exist.
type NotFoundError struct {
	Name, Directory string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("file %s does not exist below %s, the operator's --credentials-directory: mount it there, or correct the name", e.Name, e.Directory)
}

// NotAllowedError says that the operator was started without a directory of credentials.
type NotAllowedError struct {
	Name string
}

// Error implements error.
func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("file %s is not read: the operator was started without --credentials-directory (chart value credentialsDirectory)", e.Name)
}

// UnreadableError says that a file is there and cannot be used.
type UnreadableError struct {
	Name string
	Err  error
}

// Error implements error.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("file %s below the operator's --credentials-directory cannot be read: %v", e.Name, e.Err)
}

// Unwrap gives the cause.
func (e *UnreadableError) Unwrap() error { return e.Err }
