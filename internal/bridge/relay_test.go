package bridge

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"gossiptrainer/internal/witness"
)

// attach joins at the address that a relay announces, and leaves with some last messages.
func attach(t *testing.T, address string, last ...[]byte) {
	t.Helper()
	port, token, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(address), tcpScheme), "#")
	c, err := net.Dial("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	start := binary.LittleEndian.AppendUint32(nil, 0x3f800000)
	head := make([]byte, HeaderLen)
	Header{Kind: KindStart, Length: 4}.Put(head)
	words := [][]byte{[]byte(token), message(KindHello, 0, Hello{Version: Version, Client: "kernel", Memory: Frames,
		Outline: plain(1)}), head, start}
	if _, err := c.Write(bytes.Join(append(words, last...), nil)); err != nil {
		t.Error(err)
	}
}

// A program that runs already takes the place of the script. Where it goes without a word, the script has failed.
func TestARelayLendsItsPlace(t *testing.T) {
	t.Parallel()
	for want, last := range map[string][][]byte{
		"":                     {message(KindBye, 0, struct{}{})},
		"ended with exit code": nil,
		"raised: no GPU":       {message(KindError, 0, Failure{"no GPU", ""})},
	} {
		var said witness.Page
		read, written := io.Pipe()
		s := start(t, Options{Command: actor("relay"), Rank: -1, Out: written, Err: &said})
		address, err := bufio.NewReader(read).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		attach(t, address, last...)
		if _, x, err := s.Hello(t.Context()); err != nil || len(x) != 1 || x[0] != 1 {
			t.Fatalf("%q: %v, error %v", want, x, err)
		}
		err = s.Wait()
		// before WELCOME the end of a script is an error in any case
		if err == nil || want != "" && !strings.Contains(err.Error(), want) || want == "" && !strings.Contains(err.Error(),
			"exit code 0") {
			t.Errorf("%q: error %v\n%s", want, err, said.String())
		}
	}
}
