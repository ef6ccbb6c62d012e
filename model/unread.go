package model

import (
	"cmp"
	"fmt"

	"github.com/tpconvert/tpconvert/internal/human"
)

// Unread counts the items of one kind in a trace that make no rows: packets, events, records, members.
type Unread struct {
	noun         string
	texts        [2]string // that follow a count of one and of more, "" for what follows from the noun
	key          statKey
	count, total int64
	first        LogEntry
}

const (
	// maxUnread is the maximum number of kinds counted separately per file; event names may be random.
	maxUnread = 1000
	// maxNoun is the maximum length of a kind's name, in bytes; the rest is cut off.
	maxNoun = 100
)

// Unread returns the counter of a kind. noun names one item, such as "perf_sample packet". At the end of the
// file, the count goes to stats and, with the place of the first item, to import_log. index is the stat's
// number for the kind, or None if the stat has no numbers of its own.
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

// Add counts one more item, found at e.
func (u *Unread) Add(e LogEntry) {
	if u.count == 0 {
		u.first = e
	}
	u.count++
}

// AddAt is Add for an offset in the input, in bytes.
func (u *Unread) AddAt(offset int64) { u.Add(LogEntry{Offset: offset, HasOffset: true}) }

// Say replaces the text that follows a count of one and of more items, such as "user stack needs its binary".
func (u *Unread) Say(one, more string) *Unread {
	u.texts = [2]string{one, more}
	return u
}

// Of sets the total number of items, read and unread.
func (u *Unread) Of(total int64) { u.total = total }

// ExplainUnread counts one part of the file under an index, and explains in stats and import_log what it is
// and why it is not read. The log's message is "1 " followed by text.
func (f *File) ExplainUnread(stat Stat, index int64, text string) {
	strs := f.store.Strings
	f.Add(stat, index, 1)
	f.store.statTexts[statKey{stat, index, f.ID, None}] = text
	f.log(stat, LogEntry{Args: ArgFunc(func(set *ArgSet) {
		set.Add(strs.Intern("message"), StringArg(strs.Intern("1 "+text)))
	})})
}

// storeUnread reports in stats and import_log what was not read.
func (f *File) storeUnread() {
	strs := f.store.Strings
	for _, u := range f.unread {
		if u.count == 0 {
			continue
		}
		text := cmp.Or(u.texts[1], u.noun+"s are not read")
		if u.count == 1 {
			text = cmp.Or(u.texts[0], u.noun+" is not read")
		}
		if u.total > 0 {
			text += fmt.Sprintf(" (of %s)", human.Count(u.total))
		}
		f.store.stats[u.key] += u.count
		f.store.statTexts[u.key] = text
		u.first.Args = ArgFunc(func(set *ArgSet) {
			set.Add(strs.Intern("message"), StringArg(strs.Intern(human.Count(u.count)+" "+text)))
		})
		f.log(u.key.stat, u.first)
	}
}
