package council

// Stop says that the run shall end for all: at the exchange that the next change finds.
func Stop(c *Council) { c.own.Stop = true }

// stoppers returns the members that want to end the run.
func (h *chair) stoppers(c *Council) (all []ID) {
	for _, m := range c.log.Last().Members {
		if h.words[m.ID].Stop {
			all = append(all, m.ID)
		}
	}
	return all
}
