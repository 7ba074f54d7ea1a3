package view

// Origin returns the first id of the machine of a member, which may have come back with its key. A member without a key
// has its own id.
func Origin(l *Log, id ID) ID {
	key, first := "", id
	for v := range l.records {
		for _, m := range l.records[v].Members {
			if m.ID == id {
				key = m.Key
			}
		}
	}
	if key == "" {
		return id
	}
	for v := range l.records {
		for _, m := range l.records[v].Members {
			if m.Key == key {
				first = min(first, m.ID)
			}
		}
	}
	return first
}
