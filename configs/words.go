package configs

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/agnivade/levenshtein"
)

// show writes a value for a message, cut where it is long.
func show(v any) string {
	const longest = 60
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "..."
	}
	return text
}

// number writes a bound or a value, whole numbers without a fraction.
func number(r *big.Rat) string {
	if r.IsInt() && r.Num().BitLen() <= 64 {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

func kindName(jsonType string) string {
	return map[string]string{
		"null": "nothing", "boolean": "true or false", "integer": "a whole number", "number": "a number",
		"string": "text", "array": "a list", "object": "a section",
	}[jsonType]
}

// didYouMean suggests the closest of the known words, if one is close.
func didYouMean(word string, known []string) string {
	const longest = 64
	if len(word) > longest {
		return ""
	}
	best, nearest := "", min(3, 1+len(word)/2)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), k); d < nearest {
			best, nearest = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
}

// choice lists values for people, and shortens 1, 2, 3, ... to a range.
func choice(values []any) string {
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = fmt.Sprint(v)
	}
	if joined := strings.Join(text, ", "); !strings.HasPrefix(joined, "1, 2, 3,") {
		return joined
	}
	n := 1
	for n < len(text) && text[n] == fmt.Sprint(n+1) {
		n++
	}
	return strings.Join(append([]string{fmt.Sprintf("1 to %d", n)}, text[n:]...), ", ")
}

// either joins alternatives with "or".
func either(values []string) string {
	last := len(values) - 1
	if last == 0 {
		return values[0]
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// each joins values with "and".
func each(values []string) string {
	last := len(values) - 1
	if last <= 0 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " and " + values[last]
}
