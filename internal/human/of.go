package human

import "strconv"

// Of writes a count of a whole, such as 12/300; 0 is an unknown whole.
func Of(n, whole int) string {
	if whole == 0 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(n) + "/" + strconv.Itoa(whole)
}
