package reproduce

import (
	"fmt"
	"strings"
)

// Rule says when a check counts for the claim and when against it. Between the two it decides nothing.
func (c Check) Rule() string {
	factor := max(1, c.By)
	interval := func(of string, bound float64, unit string) string {
		return fmt.Sprintf("supported if the 95 %% interval of %s lies above %g%s; not supported if it lies below",
			of, bound, unit)
	}
	switch c.Kind {
	case Within:
		return interval("the difference of final accuracies", -c.By, " points")
	case Above:
		return interval("the difference of final accuracies", c.By, " points")
	case AboveThen:
		return interval("the difference of accuracies, when the first of both runs ends,", c.By, " points")
	case Sooner:
		return interval("the ratio of times to the target", factor, "") +
			". Where runs miss the target: supported if only those of the other row do, not supported the other way round"
	case FewerTo:
		return interval("the ratio of bytes to the target", factor, "")
	case Alike:
		return fmt.Sprintf("supported if the 95 %% interval of the ratio of times lies between %.3g and %g; "+
			"not supported if it lies outside", 1/factor, factor)
	case Fewer:
		return interval("the ratio of bytes per round", factor, "")
	case LessMemory:
		return interval("the difference of extra memory", 0, " MB")
	case Closer:
		return interval("the ratio of the distances between replicas", factor, "")
	case NoMemory:
		return "supported if no run has extra memory; not supported if one has"
	case Converges:
		return "supported if all runs reach the target; not supported if one diverges"
	case Misses:
		return "supported if no run reaches the target; not supported if one does"
	case Rises:
		return "supported if all runs end with more bits than they began with; not supported if none does"
	case Repairs:
		return "supported if wrong messages are found and all are repaired; not supported if one is not"
	case Diverges:
		return fmt.Sprintf("supported if each run diverges or ends at %g %% accuracy or less; "+
			"not supported if one ends higher", 100*c.By)
	}
	return ""
}

// rules are the rules of the checks of a claim, each once.
func (c Claim) rules() string {
	var all []string
	for _, check := range c.Checks {
		if rule := check.Rule(); len(all) == 0 || all[len(all)-1] != rule {
			all = append(all, rule)
		}
	}
	return strings.Join(all, "; and ")
}
