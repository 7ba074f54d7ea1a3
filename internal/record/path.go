package record

import "time"

// A Path is the way over which a worker reaches a neighbour.
type Path struct {
	Way       Way    `json:"way"`
	Interface string `json:"interface,omitempty"` // of this machine; "": unknown
	// Others are the other addresses of the neighbour that were measured; the fastest first.
	Others []Way `json:"others,omitempty"`
	// Measuring is the bytes that were sent and received to measure. Bytes.Wire has them as well.
	Measuring int64 `json:"measuring_bytes,omitempty"`
}

// A Way is an address of a neighbour.
type Way struct {
	Address string        `json:"address"`         // IP address
	Rate    float64       `json:"bit_s,omitempty"` // of the slower direction, measured without other load; 0: unknown
	RTT     time.Duration `json:"rtt_ns,omitempty"`
	Gone    bool          `json:"gone,omitempty"` // it did not answer when it was tried last
}

// brief returns the path for a message that must be small.
func (p *Path) brief() *Path {
	if p == nil || len(p.Others) <= mostOthers {
		return p
	}
	short := *p
	short.Others = p.Others[:mostOthers]
	return &short
}
