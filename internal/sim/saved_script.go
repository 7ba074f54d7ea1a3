package sim

import (
	"time"

	"gossiptrainer/internal/fault"
	"gossiptrainer/topology"
)

// savedFaults are the script, the links and the processes of a run at rest.
type savedFaults struct {
	Play      fault.Saved    `json:"play"`
	Planned   time.Duration  `json:"planned_ns"`
	Begun     int            `json:"begun"`
	Agenda    []savedItem    `json:"agenda,omitempty"`
	Effects   []savedEffect  `json:"effects,omitempty"`
	Open      []savedOpen    `json:"open,omitempty"`
	Links     []savedLink    `json:"links"`
	Processes []savedProcess `json:"processes"`
}

// An itemKind says which items of an agenda a run has that is at rest. A state has no others.
type itemKind uint8

const (
	passing itemKind = iota // of a process or link that changes
	reading                 // of the script
	pulse                   // of the layers of the event's worker and process
)

// A savedItem is a pulse of a process, or the next look at the script.
type savedItem struct {
	At     time.Duration `json:"at_ns"`
	Seq    uint64        `json:"sequence"`
	Kind   itemKind      `json:"kind"`
	Worker topology.Rank `json:"worker,omitempty"`
	Turn   int           `json:"turn,omitempty"`
}

// A savedEffect is an effect of a fault, which is given by its number.
type savedEffect struct {
	Number    int           `json:"number"`
	At        time.Duration `json:"at_ns"`
	Over      time.Duration `json:"over_ns"`
	Noticed   time.Duration `json:"noticed_ns"`
	Recovered time.Duration `json:"recovered_ns"`
	Again     int           `json:"again"`
}

// A savedOpen is an open effect.
type savedOpen struct {
	Effect int `json:"effect"`
	Round  int `json:"round"`
}

// A savedLink is a link whose loss is known.
type savedLink struct {
	Ends    [2]topology.Rank `json:"ends"`
	Up      bool             `json:"up"`
	Number  int              `json:"number"`
	Met     [2][2]int        `json:"met"`
	Wanted  [2]int           `json:"wanted"`
	Refused [2]int           `json:"refused"`
}

// A savedProcess is a process that runs, with the rounds of its checkpoints.
type savedProcess struct {
	Number  int           `json:"number"`
	Place   int           `json:"place"`
	Durable int           `json:"durable"`
	Reached int           `json:"reached"`
	Begun   int           `json:"begun"`
	AtDeath int           `json:"at_death"`
	Hangs   int           `json:"hangs"`
	Delay   time.Duration `json:"delay_ns"`
	Taken   time.Duration `json:"taken_ns"`
	Unkept  int           `json:"unkept"`
	Kept    []int         `json:"kept,omitempty"`
}
