package sqlitestore

import (
	"strings"
	"sync"
)

// counter is a hook that counts statements.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) hook(query string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[strings.Join(strings.Fields(query), " ")]++
	return nil
}

// take returns the counts since the last take.
func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = nil
	return n
}
