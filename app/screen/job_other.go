//go:build !unix

package screen

import "context"

// Watch does nothing, because no shell of this system suspends a job.
func (j *Job) Watch(context.Context) {}
