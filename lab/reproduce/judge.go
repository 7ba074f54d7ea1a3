package reproduce

// judge returns the verdict of a claim over the parts of a size that have been run.
func judge(claim Claim, parts map[string]*part) Judgement {
	j := Judgement{Claim: claim}
	for _, check := range claim.Checks {
		for _, name := range check.In {
			if p := parts[name]; p != nil {
				j.Evidence = append(j.Evidence, p.examine(check)...)
			}
		}
	}
	gap := false // a row is missing: the others alone do not support the claim
	for _, e := range j.Evidence {
		j.Verdict = max(j.Verdict, e.Verdict)
		gap = gap || e.Verdict == Untested
	}
	if gap && j.Verdict == Supported {
		j.Verdict = Undecided
	}
	return j
}

// examine makes the comparisons of a check.
func (p *part) examine(c Check) []Evidence {
	var all []Evidence
	for _, label := range c.A {
		a, ok := p.find(label, c.Network)
		switch {
		case !ok:
			all = append(all, p.missing(label, c.Network))
			continue
		case c.Kind.single():
			all = append(all, a.alone(c))
			continue
		}
		for _, other := range c.B {
			b, ok := p.find(other, c.Network)
			if !ok {
				all = append(all, p.missing(other, c.Network))
				continue
			}
			all = append(all, a.against(b, c))
		}
	}
	return all
}

// missing says that a row has no cell.
func (p *part) missing(label, network string) Evidence {
	return Evidence{Part: p.name, Network: network, Words: label + " has not been run", Verdict: Untested}
}

// alone examines the runs of a row by themselves.
func (a row) alone(c Check) Evidence {
	e := Evidence{Part: a.part.name, Network: a.Network.Name, Cells: a.folders()}
	switch c.Kind {
	case Converges:
		e.Words, e.Verdict = a.converges()
	case Misses:
		e.Words, e.Verdict = a.misses()
	case Rises:
		e.Words, e.Verdict = a.rises()
	case Repairs:
		e.Words, e.Verdict = a.repairs()
	case Diverges:
		e.Words, e.Verdict = a.diverges(c.By)
	case NoMemory:
		e.Words, e.Verdict = a.noMemory()
	}
	if n := len(a.Cells); n < 2 && e.Verdict != Untested {
		e.Words, e.Verdict = e.Words+"; one seed is not judged", Untested
	}
	return e
}

// against compares a row with another.
func (a row) against(b row, c Check) Evidence {
	e := Evidence{Part: a.part.name, Network: a.Network.Name, Cells: append(a.folders(), b.folders()...)}
	if words, verdict, ended := a.lost(b, c); ended {
		e.Words, e.Verdict = words, verdict
		return e
	}
	switch c.Kind {
	case Within:
		e.Words, e.Verdict = a.accuracy(b, -c.By)
	case Above:
		e.Words, e.Verdict = a.accuracy(b, c.By)
	case AboveThen:
		e.Words, e.Verdict = a.then(b, c.By)
	case Closer:
		e.Words, e.Verdict = a.closer(b, c.By)
	case Sooner, FewerTo, Alike:
		e.Words, e.Verdict = a.toTarget(b, c)
	case Fewer:
		e.Words, e.Verdict = a.fewer(b, c.By)
	case LessMemory:
		e.Words, e.Verdict = a.lessMemory(b)
	}
	return e
}
