package council

// Stop says that the run shall end for all: at the exchange that the next change finds.
func Stop(c *Council) { c.own.Stop = true }

// stopper returns a member that wants to end the run.
func (h *chair) stopper(c *Council) (id ID, found bool) {
	for _, m := range c.log.Last().Members {
		if h.words[m.ID].Stop {
			return m.ID, true
		}
	}
	return 0, false
}
