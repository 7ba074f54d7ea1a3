package script

import (
	"io"
	"sync"
)

// An Outlet passes the lines of a script to a writer that may change: to the screen, and then to the display of the run.
type Outlet struct {
	mu sync.Mutex
	to io.Writer
}

// NewOutlet returns an outlet to a writer.
func NewOutlet(to io.Writer) *Outlet { return &Outlet{to: to} }

// Lead sends later lines to another writer.
func (o *Outlet) Lead(to io.Writer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = to
}

// Write implements io.Writer.
func (o *Outlet) Write(lines []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(lines)
}
