// Package packages keeps the uids of app packages on an Android device.
package packages

import (
	"github.com/tpconvert/tpconvert/ingest/proto"
	"github.com/tpconvert/tpconvert/model"
	"github.com/tpconvert/tpconvert/model/schema"
)

// Packages are the app packages of a machine.
type Packages struct {
	process *schema.Process
	known   map[installed]bool
	first   map[int64]model.StringID // by uid
}

type installed struct {
	name model.StringID
	uid  int64
}

var shared = proto.Shared[Packages]{New: func(r *proto.Reader) *Packages {
	return &Packages{&r.Store.Process, map[installed]bool{}, map[int64]model.StringID{}}
}}

// Of returns the packages of a reader's machine.
func Of(r *proto.Reader) *Packages { return shared.Of(r) }

// Add adds a package. It returns false if the package is known already.
func (p *Packages) Add(name model.StringID, uid int64) bool {
	key := installed{name, uid}
	if p.known[key] {
		return false
	}
	p.known[key] = true
	if _, known := p.first[uid]; !known {
		p.first[uid] = name
	}
	return true
}

// OfProcess returns the first package of the app that a process belongs to, or zero if
// it is unknown.
func (p *Packages) OfProcess(upid model.UPID) model.StringID {
	if app, ok := p.process.AndroidAppID.Get(int64(upid)); ok {
		return p.first[app]
	}
	return 0
}
