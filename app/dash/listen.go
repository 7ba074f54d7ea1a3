package dash

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"gossiptrainer/app/advice"
	"gossiptrainer/node/identity"
)

// Address is where the dash listens by default. Anywhere, as an empty address, means that one, and another port if it
// is taken.
const (
	Address  = "127.0.0.1:8420"
	Anywhere = "auto"
)

// AddressIn returns the first word that is a host and a port, "" if there is none. A path of Windows, such as
// C:\run.yaml, is none.
func AddressIn(words []string) string {
	for _, w := range words {
		_, port, _ := net.SplitHostPort(w)
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			return w
		}
	}
	return ""
}

// An entrance is where pages reach the dash.
type entrance struct {
	net.Listener
	token string // that pages must know; "" on a loopback address
	host  string // of the address that the user gave
}

// listen opens an address. An address that other machines reach has a token: the content of a file, else a random one.
func listen(address, tokenFile string) (*entrance, error) {
	anywhere := address == "" || address == Anywhere
	if anywhere {
		address = Address
	}
	host, port, err := net.SplitHostPort(address)
	if number, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || port != strconv.FormatUint(number, 10) {
		return nil, advice.Usage(fmt.Errorf("dash: --listen %q: want an address and a port", address),
			"write it as "+Address+", with port 0 for any free one")
	}
	e := &entrance{host: host}
	if e.token, err = tokenOf(host, tokenFile); err != nil {
		return nil, err
	}
	e.Listener, err = net.Listen("tcp", address)
	if anywhere && errors.Is(err, syscall.EADDRINUSE) {
		e.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, explained(address, err)
	}
	return e, nil
}

// explained adds to an error of listening what to do about it.
func explained(address string, err error) error {
	named := fmt.Errorf("dash: --listen %s: %w", address, err)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return advice.Usage(fmt.Errorf("dash: --listen %s: another program has this port", address),
			"choose another port, or 0 for any free one")
	case errors.Is(err, syscall.EACCES):
		return advice.Usage(named, "ports below 1024 are for the system: choose a larger one")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return advice.Usage(named, "this machine has no such address: 0.0.0.0 means all that it has")
	}
	return advice.Usage(named, "name an address of this machine, such as "+Address)
}

// tokenOf returns the token of an entrance at a host, "" if it needs none.
func tokenOf(host, file string) (string, error) {
	if file != "" {
		token, err := identity.ReadSecret(file)
		if err != nil {
			return "", advice.With(fmt.Errorf("dash: --token-file: %w", err),
				advice.Command("peer", "id", "secret", file)+" makes one")
		}
		return token, nil
	}
	if loopback(host) {
		return "", nil
	}
	return rand.Text(), nil
}

// loopback reports whether only this machine reaches a host.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback()
}

// url returns the address for a browser, with the token if there is one.
func (e *entrance) url() string {
	host, port, _ := net.SplitHostPort(e.Addr().String())
	if at, err := netip.ParseAddr(host); err == nil && at.IsUnspecified() {
		host = reachable()
	}
	to := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	if e.token != "" {
		to.RawQuery = url.Values{tokenKey: {e.token}}.Encode()
	}
	return to.String()
}

// reachable returns an address of this machine that other machines may reach, else its name.
func reachable() string {
	all, _ := net.InterfaceAddrs() // without them the name is left
	for _, one := range all {
		if at, err := netip.ParsePrefix(one.String()); err == nil && at.Addr().Is4() && at.Addr().IsGlobalUnicast() {
			return at.Addr().String()
		}
	}
	return ownName()
}

// ownName returns the name of this machine.
func ownName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "localhost"
}
