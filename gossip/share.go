package gossip

// Shared returns how many frames at the beginning of frames are one message to
// several neighbours: alike but for the receiver, with one payload in memory. A
// driver that does something to payloads does it once for them.
func Shared(frames []Frame) int {
	if len(frames) == 0 {
		return 0
	}
	first := frames[0]
	for i, f := range frames {
		same := len(f.Payload) == len(first.Payload) && (len(f.Payload) == 0 || &f.Payload[0] == &first.Payload[0])
		if !same || f.Kind != first.Kind || f.Round != first.Round || f.Hop != first.Hop {
			return i
		}
	}
	return len(frames)
}
