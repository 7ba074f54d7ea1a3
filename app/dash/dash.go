// Package dash serves a page that shows runs while they go on, and past ones. It reads run folders and asks the
// processes of this machine, as "peer status" does; it writes nothing, and no run depends on it.
//
// A track follows one run and keeps a tally of it: curves of bounded size, workers, edges and events, each with the
// version of its last change. A page gets all of it once, then what changed since the version that it has. So a slow
// page gets fewer messages, and has no queue. docs/dash.md describes the page for users.
package dash

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/status"
)

// Short, Long, Example and the texts of flags explain the command.
const (
	Short = "show running and past runs on a page in a browser"
	Long  = `show running and past runs on a page in a browser

FOLDER is the folder of a run, a comparison, or a folder of runs; without it, it is
output.dir. The page shows loss, consensus distance and theta against rounds, seconds and
bytes, the parts of a round, the graph and its links, the workers, events, and the cells of
a comparison. It is part of this program and loads nothing from elsewhere.

Only this machine can reach the address. Another one, as 0.0.0.0:8420, lets other machines look:
then only a browser that has opened the printed address, which holds a token, gets in. The
connection is not encrypted. The page changes nothing. Ctrl-C ends it.

peer lab, run, sim and compare show their run themselves with --dash.`
	Example = `  peer dash
  peer dash runs/ring8-20261121-100500
  peer dash fig1 --listen 127.0.0.1:9000
  peer lab ring8-fashion --dash`
	ListenUsage    = "`address` of the page; port 0 is any free one (default: " + Address + ")"
	TokenFileUsage = "`file` with the page's token, as of \"peer id secret\" (default: a random one)"
	FlagUsage      = "show the run on a page in a browser, `at` " + Address + " or elsewhere"
)

// Options configure a dash.
type Options struct {
	Listen    string // address and port; "": Address, or a free port if that one is taken
	TokenFile string // a secret that pages must know; "": a random one where other machines reach the address
	Version   string // of the program
}

// A Dash is an open entrance at which pages may ask.
type Dash struct {
	options  Options
	entrance *entrance
	server   *server // nil before it shows something
	http     *http.Server
	stop     context.CancelFunc // of the tracks
	served   chan struct{}
}

// Open listens at the address of the options. Errors say what to do. The caller must End the dash.
func Open(o Options) (*Dash, error) {
	e, err := listen(o.Listen, o.TokenFile)
	if err != nil {
		return nil, err
	}
	return &Dash{options: o, entrance: e}, nil
}

// URL returns the address for a browser. It holds the token, if there is one.
func (d *Dash) URL() string { return d.entrance.url() }

// A Lifetime says when a dash ends.
type Lifetime int

// The lifetimes of a dash.
const (
	UntilStopped Lifetime = iota
	WithRun               // with the run that it shows
)

// Show begins to answer pages about a folder, or about output.dir if it is empty. The error is a usage error if there
// is no such folder.
func (d *Dash) Show(folder string, life Lifetime) error {
	ctx, stop := context.WithCancel(context.Background())
	lib, err := openLibrary(ctx, folder, answers)
	if err != nil {
		stop()
		return err
	}
	words := []string{"peer", "dash"}
	if folder != "" {
		words = append(words, folder)
	}
	d.stop = stop
	served := &server{lib: lib, version: d.options.Version, again: advice.Command(words...),
		follows: life == WithRun, ended: make(chan struct{}), streams: make(chan struct{}, mostStreams)}
	d.http = &http.Server{Handler: d.entrance.guard(served.handler()), ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: log.New(io.Discard, "", 0)}
	d.server, d.served = served, make(chan struct{})
	go func() {
		defer close(d.served)
		_ = d.http.Serve(d.entrance) // until End
	}()
	return nil
}

// endWithin bounds the time in which pages take the last changes.
const endWithin = time.Second

// End reads the runs for the last time, tells the pages, and closes the entrance. It waits for no page longer than a
// second.
func (d *Dash) End() {
	if d.server == nil {
		_ = d.entrance.Close()
		return
	}
	d.stop()
	d.server.lib.finish()
	close(d.server.ended)
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if d.http.Shutdown(ctx) != nil {
		_ = d.http.Close()
	}
	<-d.served
}

// Again returns the command that shows the folder later, "" if the folder is gone.
func (d *Dash) Again() string {
	if d.server == nil {
		return ""
	}
	if _, err := os.Stat(d.server.lib.folder); err != nil {
		return ""
	}
	return d.server.again
}

// answers asks the processes of this machine.
func answers() []status.Answer {
	dirs, err := status.Folders()
	if err != nil {
		return nil // the record says enough
	}
	return status.AskAll(dirs...).Peers
}

// Serve shows a folder, as Show does, until ctx ends. It prints the address to talk.
func Serve(ctx context.Context, folder string, o Options, talk io.Writer) error {
	d, err := Open(o)
	if err != nil {
		return err
	}
	defer d.End()
	if err := d.Show(folder, UntilStopped); err != nil {
		return err
	}
	fmt.Fprintf(talk, "dash: %s\n", d.URL())
	<-ctx.Done()
	return nil
}
