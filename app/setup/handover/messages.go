package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gossiptrainer/node/handshake"
)

// Subjects of the messages of a handover, after those of a handshake.
const (
	aboutRequest handshake.Subject = 96 + iota
	aboutOffer
	aboutReady
	aboutGrant
	aboutDone
)

// Bounds of messages in bytes. The run file has at most 1 MiB, and JSON may double it.
const (
	mostRequest = 1 << 12
	mostOffer   = 3 << 20
	mostText    = 128 // bytes of a name or a version
)

// Unranked is the rank in a run without a roster.
const Unranked = handshake.Unranked

// A Program identifies the program of a machine.
type Program struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Platform string `json:"platform"`
}

// String names the version and the commit, as far as they are known.
func (p Program) String() string {
	if p.Commit == "" {
		return p.Version
	}
	return fmt.Sprintf("%s (%.12s)", p.Version, p.Commit)
}

// fits reports whether two programs may take part in one run. A program may not know its commit.
func (p Program) fits(other Program) bool {
	return p.Version == other.Version && (p.Commit == other.Commit || p.Commit == "" || other.Commit == "")
}

// A request is the first message of a machine that joins.
type request struct {
	Program Program `json:"program"`
	Heard   bool    `json:"heard"` // the multicast of the host arrives there
	Port    int     `json:"port"`  // for its links, if the run lists addresses
}

// A File is one that a run needs beside its run file.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // hex
	Bytes  int64  `json:"bytes"`
}

// An Offer is what a machine learns before it takes part. It has no secret.
type Offer struct {
	Program  Program         `json:"program"`
	Name     string          `json:"name"` // of the files, without ending
	Machines int             `json:"machines"`
	RunFile  string          `json:"run_file"`
	Data     json.RawMessage `json:"data,omitempty"` // the properties that the data of all machines share; nil: no data
	Files    []File          `json:"files,omitempty"`
	Open     bool            `json:"open"`    // machines join while the run goes on
	Gathers  bool            `json:"gathers"` // the run file will list addresses, once all machines are here
}

// A Grant makes a machine a member of a run.
type Grant struct {
	RunFile string `json:"run_file"`
	Secret  string `json:"secret"`
	Rank    int    `json:"rank"`   // Unranked without a roster
	Port    int    `json:"port"`   // for the links of this machine, if the run file lists addresses
	QUIC    bool   `json:"quic"`   // these links use QUIC
	Number  int    `json:"number"` // of this machine; the host has 1
}

var errForm = errors.New("handover: malformed message")

// parseRequest reads the request of a machine that knows the token.
func parseRequest(body []byte) (request, error) {
	var r request
	if json.Unmarshal(body, &r) != nil || r.Port < 0 || r.Port > 1<<16-1 {
		return request{}, errForm
	}
	r.Program = r.Program.printable()
	return r, nil
}

// parseOffer reads the offer of the host.
func parseOffer(body []byte) (Offer, error) {
	var o Offer
	if json.Unmarshal(body, &o) != nil || !ValidName(o.Name) || o.Machines < 1 || o.Machines > handshake.MaxWorkers {
		return Offer{}, errForm
	}
	for _, f := range o.Files {
		if !plain(f.Name) || f.Bytes < 0 {
			return Offer{}, errForm
		}
	}
	o.Program = o.Program.printable()
	return o, nil
}

// parseGrant reads the grant of the host.
func parseGrant(body []byte) (Grant, error) {
	var g Grant
	if json.Unmarshal(body, &g) != nil || g.RunFile == "" || g.Rank < Unranked || g.Number < 2 ||
		g.Port < 0 || g.Port > 1<<16-1 {
		return Grant{}, errForm
	}
	return g, nil
}

func (p Program) printable() Program {
	cut := func(s string) string { return handshake.Printable(s[:min(len(s), mostText)]) }
	return Program{cut(p.Version), cut(p.Commit), cut(p.Platform)}
}

// mostName bounds the name of a file without its ending, in bytes.
const mostName = 40

// ValidName reports whether a name can be that of files in a folder of any system: letters, digits, dashes and
// underscores. The first is no dash.
func ValidName(name string) bool {
	return plain(name) && len(name) <= mostName && !strings.Contains(name, ".")
}

// plain reports whether a name is that of a visible file in the same folder.
func plain(name string) bool {
	if name == "" || len(name) > mostText || name[0] == '-' || name[0] == '.' {
		return false
	}
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		default:
			return false
		}
	}
	return true
}
