package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gossiptrainer/app/advice"
	"gossiptrainer/app/describe"
	"gossiptrainer/app/setup/handover"
	"gossiptrainer/configs"
	"gossiptrainer/internal/data"
	"gossiptrainer/node/identity"
)

// A Beginning is the work of peer init.
type Beginning struct {
	Screen
	Given     map[string]string // answers by flag
	Overwrite Overwrite
	Invite    Invitation // how to invite, without a file
	Alone     bool       // write the files, and invite no machine
	Label     string     // column of the classes in a table of the user, "" for the usual one
	Here      bool       // set by Begin: all peers are processes of this machine

	asking *asker // nil: nothing was asked so far
}

// Begin asks for the missing answers, writes run file and secret, and invites the other machines. It returns the name
// of the run file, "" if nothing was written.
func (b *Beginning) Begin(ctx context.Context) (runFile string, err error) {
	if err := writable(); err != nil {
		return "", err
	}
	who, err := identity.Ephemeral()
	if err != nil {
		return "", err
	}
	b.Invite.Screen = b.Screen
	p, err := handover.Appear(handover.Place{Identity: who, Role: handover.Host, Port: b.Invite.Port, Log: b.Log})
	if err != nil {
		return "", err
	}
	defer p.Close()
	complaints := examine(ctx, b.Screen)
	a, err := b.answers(ctx, p)
	if err != nil {
		return "", err
	}
	files := pathsOf(a.Name)
	if err := files.check(b.Overwrite); err != nil {
		return "", fmt.Errorf("init: %w", err)
	}
	text := a.RunFile()
	if err := loads(text); err != nil {
		return "", err
	}
	if ctx.Err() != nil { // Ctrl-C leaves nothing
		return "", context.Cause(ctx)
	}
	if a.alone() {
		return b.here(files, text)
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	if err := files.write(text, hex.EncodeToString(secret)+"\n", b.Overwrite); err != nil {
		return "", err
	}
	b.say("%s is the run file, %s the secret, which only you can read", files.runFile, files.secret)
	complaints()
	if b.Alone {
		advice.Next(b.Talk, advice.Command("peer", "invite", files.runFile), "prints the join command for the others")
		return files.runFile, nil
	}
	loaded, err := configs.Load(configs.Source{File: files.runFile})
	if err != nil {
		return "", err
	}
	b.Invite.File, b.Invite.Loaded = files.runFile, loaded
	return files.runFile, b.Invite.with(ctx, p)
}

// loads checks that a run file can be read, and that this machine has its data.
func loads(text string) error {
	return tryOut(text, func(name string) error {
		loaded, err := configs.Load(configs.Source{File: name})
		if err == nil {
			_, err = held(loaded)
		}
		return err
	})
}

// here ends a beginning on one machine alone: no machine joins, so there is no secret.
func (b *Beginning) here(files paths, text string) (runFile string, err error) {
	if err := files.write(text, "", b.Overwrite); err != nil {
		return "", err
	}
	b.say("%s is the run file", files.runFile)
	if b.Here = true; !b.Invite.Runs {
		advice.Next(b.Talk, advice.Command("peer", "lab", files.runFile), "trains on this machine")
	}
	return files.runFile, nil
}

// checkData says what a check of the user's own data finds, and follows its advice. Where the labels name no classes,
// it asks for the column that has them. Before the number of machines is known, it only reports errors.
func (b *Beginning) checkData(ctx context.Context, a *answers) error {
	if !a.Own {
		return nil
	}
	a.label = cmp.Or(a.label, b.Label)
	check, err := b.tryData(a)
	names := data.ColumnNames(a.Data)
	if isLabelError(err) && b.Interactive && a.label == "" && names != nil {
		b.say("The labels of %s name no classes: %v", a.Data, err)
		asked := b.asker().ask(ctx, "Column of the classes: "+strings.Join(names, ", "), "", func(text string) error {
			if !slices.Contains(names, text) {
				return advice.OneOf("column", text, names)
			}
			a.label = text
			if check, err = b.tryData(a); isLabelError(err) {
				return err
			}
			return nil
		})
		err = cmp.Or(asked, err)
	}
	if err != nil || a.Machines == 0 {
		return err
	}
	if a.encode {
		b.say("The table has texts or misses values: data.encode makes columns of 0 and 1 of the texts, and means of the " +
			"missing values.")
	}
	for _, note := range check.Notes {
		b.say("note: %s", note)
	}
	a.suit = suits(check, a.workers(), a.Rounds)
	b.say("%s", a.suit.why)
	return nil
}

func isLabelError(err error) bool {
	_, is := errors.AsType[*data.LabelError](err)
	return is
}

// tryData checks the data of the answers, and again with texts as numbers where they are not numbers alone.
func (b *Beginning) tryData(a *answers) (check *describe.DataCheck, err error) {
	a.suit.batch = 1 // fits all data
	try := func() error {
		run := *a
		run.Name = cmp.Or(a.Name, usualName) // which may not have been asked for yet
		return tryOut(run.RunFile(), func(name string) error {
			loaded, err := configs.Load(configs.Source{File: name})
			if err == nil {
				check, err = describe.CheckData(loaded)
			}
			return err
		})
	}
	a.encode = false
	if err = try(); err == nil {
		return check, nil
	}
	a.encode = true
	again := try()
	if again == nil {
		return check, nil
	}
	if errors.Is(again, data.ErrNoText) {
		a.encode = false
		return nil, err
	}
	return nil, again
}

// asker returns the one reader of answers.
func (b *Beginning) asker() *asker {
	if b.asking == nil {
		b.say("Return takes the answer in brackets; Ctrl-C leaves nothing behind.")
		b.asking = newAsker(b.Screen)
	}
	return b.asking
}

// answers takes the answers from flags, and asks for the others.
func (b *Beginning) answers(ctx context.Context, p *handover.Presence) (answers, error) {
	var a answers
	questions := Questions()
	var all []string
	for _, q := range questions {
		all = append(all, "--"+q.Flag)
		if text, given := b.Given[q.Flag]; given {
			if err := b.take(&a, q, text); err != nil {
				return a, advice.Usage(fmt.Errorf("init: --%s: %w", q.Flag, err), hintOf(err))
			}
		}
	}
	if err := b.checkData(ctx, &a); err != nil {
		return a, fmt.Errorf("init: %w", err)
	}
	hint := "give " + strings.Join(all, ", ") + "; all but --machines have a default"
	free := func(name string) bool { return b.Overwrite == replaceFiles || pathsOf(name).free() }
	for _, q := range questions {
		if _, given := b.Given[q.Flag]; given {
			continue
		}
		if !b.Interactive || q.between && a.alone() {
			usual := q.usual(0, free)
			if q.Flag == "machines" {
				return a, missing("init", "--"+q.Flag, hint)
			}
			if err := b.take(&a, q, usual); err != nil {
				return a, err
			}
			continue
		}
		asking := b.asker()
		others := p.Others()
		if q.Flag == "machines" && others > 0 {
			b.say("On this LAN, machines that wait in peer join or peer init: %d.", others)
		}
		n, all := place(q, questions, a)
		question := fmt.Sprintf("%d/%d  %s", n, all, q.text)
		take := func(text string) error {
			err := b.take(&a, q, text)
			if err == nil && (q.Flag == "data" || q.Flag == "machines") {
				err = b.checkData(ctx, &a)
			}
			return err
		}
		if err := asking.ask(ctx, question, q.usual(others, free), take); err != nil {
			return a, err
		}
	}
	return a, nil
}

// place returns the number of a question among those that the answers so far leave, and how many these are.
func place(q Question, questions []Question, a answers) (n, all int) {
	for _, other := range questions {
		if other.between && a.alone() {
			continue
		}
		if all++; other.Flag == q.Flag {
			n = all
		}
	}
	return n, all
}

// take takes one answer. The name must be free.
func (b *Beginning) take(a *answers, q Question, text string) error {
	if err := q.take(a, text); err != nil || q.Flag != "name" {
		return err
	}
	return pathsOf(a.Name).check(b.Overwrite)
}
