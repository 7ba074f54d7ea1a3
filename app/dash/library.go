package dash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/runfolder"
	"gossiptrainer/app/status"
)

// Bounds of a library.
const (
	mostListed = 500              // newest runs of a folder
	mostTracks = 16               // runs that are followed at a time
	linger     = 30 * time.Second // a run is followed after the last question about it
	listEvery  = 3 * time.Second  // looks for new runs
)

// A library knows the runs that a page may ask for: a run and those beside it, the cells of a comparison, or the runs
// of a folder. It follows those that a page looks at.
type library struct {
	folder string // as the user named it
	alone  string // the folder of the one run of a run folder, "" else
	kind   runfolder.Kind
	ask    func() []status.Answer

	mu     sync.Mutex
	known  map[string]*listed // by id
	order  []string           // newest first
	listAt time.Time
	cells  *comparison
	tracks map[string]*followed
	ctx    context.Context // ends the tracks
}

// A followed run has a track as long as pages look at it, and for a while after that.
type followed struct {
	*track
	stop  context.CancelFunc
	users int
	until time.Time // while there are no users
}

// openLibrary finds the runs of a folder, or of output.dir if it is empty. It returns a usage error if folder is not a
// run folder.
func openLibrary(ctx context.Context, folder string, ask func() []status.Answer) (*library, error) {
	standard := folder == ""
	if standard {
		var err error
		if folder, err = runfolder.OutputDir(); err != nil {
			return nil, err
		}
	}
	l := &library{folder: folder, ask: ask, known: map[string]*listed{}, tracks: map[string]*followed{}, ctx: ctx}
	_, kind, err := runfolder.Below(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist) && standard: // nothing has been run yet
	case errors.Is(err, fs.ErrNotExist):
		return nil, advice.Usage(fmt.Errorf("dash: there is no folder %s", folder),
			"name the folder of a run, of a comparison or of runs; peer lab prints that of its run")
	case err != nil:
		return nil, fmt.Errorf("dash: %w", err)
	}
	l.kind = kind
	if kind == runfolder.OneRun || regularRunFile(folder) {
		l.kind, l.alone = runfolder.OneRun, folder
	}
	return l, nil
}

// refresh looks for new runs, at most once in a while.
func (l *library) refresh(now time.Time) {
	if now.Sub(l.listAt) < listEvery {
		return
	}
	l.listAt = now
	dir := l.folder
	if l.alone != "" {
		dir = filepath.Join(l.alone, "..")
	}
	places, _, err := runfolder.Below(dir)
	if err != nil {
		return // the folder was removed: the pages keep what they have
	}
	fresh := map[string]*listed{}
	for _, place := range newest(places) {
		if one := look(place, l.known[place.Name]); one != nil {
			fresh[place.Name] = one
		}
	}
	l.known = fresh
	l.sort()
	if l.kind == runfolder.Cells {
		l.cells = compared(l.folder, l.known)
	}
}

// newest returns the runs that began last, if there are too many.
func newest(places []runfolder.Place) []runfolder.Place {
	if len(places) <= mostListed {
		return places
	}
	began := map[string]time.Time{}
	for _, p := range places {
		began[p.Dir], _ = runfolder.Began(p.Dir)
	}
	slices.SortFunc(places, func(a, b runfolder.Place) int { return began[b.Dir].Compare(began[a.Dir]) })
	return places[:mostListed]
}

// sort puts the newest run first.
func (l *library) sort() {
	l.order = slices.SortedFunc(maps.Keys(l.known), func(a, b string) int {
		x, y := l.known[a], l.known[b]
		return cmp.Or(y.Began.Compare(x.Began), cmp.Compare(y.Name, x.Name))
	})
}

// main returns the run that a page shows first: the one of the folder, one that goes on, or the newest.
func (l *library) main() *string {
	if l.alone != "" {
		for id, one := range l.known {
			if same(one.place.Dir, l.alone) {
				return &id
			}
		}
		return nil
	}
	for _, id := range l.order {
		if l.known[id].State == runfolder.Running {
			return &id
		}
	}
	if len(l.order) == 0 {
		return nil
	}
	return &l.order[0]
}

// errBusy says that too many runs are looked at.
var errBusy = fmt.Errorf("%d runs are looked at: close a page, or wait for half a minute", mostTracks)

// hold returns the track of a run that the library knows, and keeps it until release is called.
func (l *library) hold(id string, now time.Time) (t *track, release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refresh(now)
	one := l.known[id]
	if one == nil {
		return nil, nil, fmt.Errorf("there is no run %q in %s", id, l.folder)
	}
	f := l.tracks[id]
	if f == nil {
		if len(l.tracks) >= mostTracks && !l.evict() {
			return nil, nil, errBusy
		}
		ctx, stop := context.WithCancel(l.ctx)
		f = &followed{track: newTrack(ctx, id, one.place, l.ask), stop: stop}
		l.tracks[id] = f
	}
	f.users++
	return f.track, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		f.users--
		f.until = time.Now().Add(linger)
		time.AfterFunc(linger+time.Millisecond, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.expire(time.Now())
		})
	}, nil
}

// expire stops the tracks at which no page has looked for a while.
func (l *library) expire(now time.Time) {
	for id, f := range l.tracks {
		if f.users == 0 && now.After(f.until) {
			f.stop()
			delete(l.tracks, id)
		}
	}
}

// evict stops the track without users that would go first, and reports whether there was one.
func (l *library) evict() bool {
	first := ""
	for id, f := range l.tracks {
		if f.users == 0 && (first == "" || f.until.Before(l.tracks[first].until)) {
			first = id
		}
	}
	if first == "" {
		return false
	}
	l.tracks[first].stop()
	delete(l.tracks, first)
	return true
}

// finish waits until all tracks have read the end of their runs. The context of the library must have ended.
func (l *library) finish() {
	l.mu.Lock()
	tracks := make([]*followed, 0, len(l.tracks))
	for _, f := range l.tracks {
		tracks = append(tracks, f)
	}
	l.mu.Unlock()
	for _, f := range tracks {
		<-f.done
	}
}
