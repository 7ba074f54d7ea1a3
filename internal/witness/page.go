package witness

import (
	"strings"
	"sync"
)

// A Page keeps the text of several writers.
type Page struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds text.
func (p *Page) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// String returns all text.
func (p *Page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}
