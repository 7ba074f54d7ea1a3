package bench

import (
	"io"
	"net"
	"sync"
	"time"
)

// plainRound returns the time of a round in which peers on a ring send each
// neighbour n bytes over plain sockets, and read n bytes back.
func plainRound(peers, bytes, rounds int) (time.Duration, error) {
	ends := make([][]net.Conn, peers)
	for i := range peers {
		a, b, err := socketPair()
		if err != nil {
			return 0, err
		}
		defer a.Close()
		defer b.Close()
		ends[i], ends[(i+1)%peers] = append(ends[i], a), append(ends[(i+1)%peers], b)
	}
	errs := make(chan error, peers)
	var all sync.WaitGroup
	began := time.Now()
	for _, own := range ends {
		all.Go(func() { errs <- plainPeer(own, bytes, rounds) })
	}
	all.Wait()
	took := time.Since(began) / time.Duration(rounds)
	for range peers {
		if err := <-errs; err != nil {
			return 0, err
		}
	}
	return took, nil
}

// socketPair returns both ends of a connection over loopback.
func socketPair() (a, b net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if b, err = l.Accept(); err != nil {
		a.Close()
	}
	return a, b, err
}

// plainPeer goes through the rounds of one peer.
func plainPeer(links []net.Conn, bytes, rounds int) error {
	out := make([]byte, bytes)
	in := make([][]byte, len(links))
	for i := range in {
		in[i] = make([]byte, bytes)
	}
	errs := make(chan error, 2*len(links))
	for range rounds {
		for i, link := range links {
			go func() { _, err := link.Write(out); errs <- err }()
			go func() { _, err := io.ReadFull(link, in[i]); errs <- err }()
		}
		for range 2 * len(links) {
			if err := <-errs; err != nil {
				return err
			}
		}
	}
	return nil
}
