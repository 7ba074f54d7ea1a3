package status

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gossiptrainer/internal/human"
	"gossiptrainer/node"
)

// A Subject is the peer that a Server answers for.
type Subject interface{ Status() node.Status }

// A member is a Subject in a run whose members come and go.
type member interface {
	Subject
	// Membership returns what the member knows of the others, nil before it has met them.
	Membership() *Membership
	// Stop lets the run end for all, at an exchange on which the members agree.
	Stop()
}

// A Membership is what a member knows of the members of its run.
type Membership struct {
	Run     string   `json:"run"`
	Folder  string   `json:"folder"`
	Member  int      `json:"member"` // id of the member that answers
	View    int      `json:"view"`
	First   int      `json:"first"` // exchange from which on the view holds
	Why     string   `json:"why,omitempty"`
	Members []Person `json:"members"`
	Joins   []Person `json:"joins"`  // are admitted, and in no view yet
	Leaves  []int    `json:"leaves"` // have said so, and have not ended yet
	Silent  []int    `json:"silent"` // were not heard for a while
	Ends    int      `json:"ends"`   // rounds of the run; fewer than those of the run file once members have stopped it
}

// A Person is a member with the name of its machine.
type Person struct {
	ID   int    `json:"id"`
	Name string `json:"name,omitempty"`
}

func (p Person) String() string { return strings.TrimSpace(strconv.Itoa(p.ID) + " " + p.Name) }

// membershipOf returns the membership of a subject, nil if its workers stay.
func membershipOf(s Subject) *Membership {
	if m, ok := s.(member); ok {
		return m.Membership()
	}
	return nil
}

// write prints the membership in a line.
func (c *Membership) write(w io.Writer) error {
	list := func(ids []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]") }
	people := func(all []Person) string {
		var names []string
		for _, p := range all {
			names = append(names, p.String())
		}
		return strings.Join(names, ", ")
	}
	text := fmt.Sprintf("%s: view %d from exchange %d", c.Run, c.View, c.First)
	if c.Why != "" {
		text += " (" + c.Why + ")"
	}
	text += fmt.Sprintf(": %s: %s", human.Count(len(c.Members), "member"), people(c.Members))
	for _, part := range []struct{ what, who string }{
		{"joins", people(c.Joins)}, {"leaves", list(c.Leaves)}, {"silent", list(c.Silent)},
	} {
		if part.who != "" {
			text += "; " + part.what + ": " + part.who
		}
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// newest returns the memberships with the newest view of each run, in a folder or in several.
func newest(all []*Membership) (shown []*Membership) {
	for _, c := range all {
		at := slices.IndexFunc(shown, func(other *Membership) bool { return other.Run == c.Run })
		switch {
		case at < 0:
			shown = append(shown, c)
		case shown[at].View < c.View:
			shown[at] = c
		}
	}
	return shown
}
