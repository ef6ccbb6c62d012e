package model

import (
	"fmt"

	"github.com/tpconvert/tpconvert/internal/count"
)

// Unread counts things of one kind that a trace has and that make no rows: packets, events, records, members.
type Unread struct {
	noun      string
	key       statKey
	count, of int64
	first     LogEntry
}

const (
	// maxUnread is how many kinds of a file are told apart; names of events may be random.
	maxUnread = 1000
	// maxNoun is how many bytes of such a name are kept.
	maxNoun = 100
)

// Unread returns the counter of a kind, of which noun names one: "perf_sample packet". At the end of the file its count is
// in stats and, with the place of the first, in import_log. Where the stat numbers its kinds, index is that number, else
// None.
func (f *File) Unread(stat Stat, index int64, noun string) *Unread {
	if len(noun) > maxNoun {
		noun = noun[:maxNoun] + "..."
	}
	if u := f.unreadNamed(stat, noun); u != nil {
		return u
	}
	if len(f.unread) >= maxUnread {
		if noun, index = "other part", None; f.unreadNamed(stat, noun) != nil {
			return f.unreadNamed(stat, noun)
		}
	}
	if index == None {
		index = int64(len(f.unread))
	}
	u := &Unread{noun: noun, key: statKey{stat, index, f.ID, None}}
	f.unread = append(f.unread, u)
	return u
}

func (f *File) unreadNamed(stat Stat, noun string) *Unread {
	for _, u := range f.unread {
		if u.key.stat == stat && u.noun == noun {
			return u
		}
	}
	return nil
}

// Add counts one more, at a place.
func (u *Unread) Add(e LogEntry) {
	if u.count == 0 {
		u.first = e
	}
	u.count++
}

// AddAt is Add for a place in the input, bytes from its start.
func (u *Unread) AddAt(offset int64) { u.Add(LogEntry{Offset: offset, HasOffset: true}) }

// Of says of how many the unread ones are a part.
func (u *Unread) Of(total int64) { u.of = total }

// ExplainUnread counts one part of the file, by its index, and says in stats and import_log
// which it is and why it is not read; text goes on after "1 ".
func (f *File) ExplainUnread(stat Stat, index int64, text string) {
	strs := f.store.Strings
	f.Add(stat, index, 1)
	f.store.statTexts[statKey{stat, index, f.ID, None}] = text
	f.log(stat, LogEntry{Args: ArgFunc(func(set *ArgSet) {
		set.Add(strs.Intern("message"), StringArg(strs.Intern("1 "+text)))
	})})
}

// storeUnread tells in stats and import_log what was not read.
func (f *File) storeUnread() {
	strs := f.store.Strings
	for _, u := range f.unread {
		text := u.noun + "s are not read"
		if u.count == 1 {
			text = u.noun + " is not read"
		}
		if u.of > 0 {
			text += fmt.Sprintf(" (of %s)", count.String(u.of))
		}
		f.store.stats[u.key] += u.count
		f.store.statTexts[u.key] = text
		u.first.Args = ArgFunc(func(set *ArgSet) {
			set.Add(strs.Intern("message"), StringArg(strs.Intern(count.String(u.count)+" "+text)))
		})
		f.log(u.key.stat, u.first)
	}
}
