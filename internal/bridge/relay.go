package bridge

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// errUnsaid is the end of a program that was lent the place of a script.
var errUnsaid = errors.New("the program that was attached is gone without a word")

// Relay lends this process's place as a script to a program that runs already, such as the kernel of a notebook. It
// calls announce with the address at which that program joins, as tcp://127.0.0.1:PORT#TOKEN, and passes all messages
// on. It returns an error if the program ends the connection without BYE or ERROR, or if the peer cannot be reached.
func Relay(announce func(address string)) error {
	peer, err := dialPeer(os.Getenv("PEER_SOCKET"), os.Getenv("PEER_TOKEN"))
	if err != nil {
		return err
	}
	defer peer.Close()
	e, err := listenTCP()
	if err != nil {
		return err
	}
	defer e.close()
	announce(e.address + "#" + e.token)
	program, err := e.accept(os.Getuid(), func(error) {})
	if err != nil {
		return fmt.Errorf("wait for a program to attach: %w", err)
	}
	e.close() // one call is all
	go func() {
		_, _ = io.Copy(program, peer)
		_ = program.Close() // the peer has ended
	}()
	return passOn(peer, program)
}

// dialPeer calls the peer at the address that a script gets.
func dialPeer(address, token string) (net.Conn, error) {
	network := "unix"
	port, tcp := strings.CutPrefix(address, tcpScheme)
	if tcp {
		network, address = "tcp", port
	}
	c, err := net.Dial(network, address)
	if err == nil && tcp {
		_, err = io.WriteString(c, token)
	}
	if err != nil {
		return nil, fmt.Errorf("no peer answers at PEER_SOCKET=%s: only a peer starts this command: %w", address, err)
	}
	return c, nil
}

// passOn passes the messages of a program on to the peer, up to its end. Its last one should be BYE or ERROR.
func passOn(peer io.Writer, program io.Reader) error {
	head, last := make([]byte, HeaderLen), errUnsaid
	for {
		if _, err := io.ReadFull(program, head); err != nil {
			return last
		}
		h, err := ParseHeader(head)
		if err != nil {
			return fmt.Errorf("the program that was attached breaks the protocol of the bridge: %w", err)
		}
		if last = errUnsaid; h.Kind == KindBye || h.Kind == KindError {
			last = nil
		}
		if _, err := peer.Write(head); err != nil {
			return last
		}
		if _, err := io.CopyN(peer, program, int64(h.Length)); err != nil {
			return errUnsaid
		}
	}
}
