package sqlite

import "errors"

// original is a database whose functions are SQLite's own, for functions in Go of the same names.
type original struct {
	db         *DB
	statements map[string]*Stmt
}

// Original passes on the value of an expression in which the functions are SQLite's own. The values of ?1 and so on are those of
// Bind.
func (d *DB) Original(expression string, args []any, result func(Value)) error {
	o := &d.original
	if o.db == nil {
		db, err := Open()
		if err != nil {
			return errors.Join(err, db.Close())
		}
		db.Limit(LimitLength, d.Limit(LimitLength, -1))
		*o = original{db, map[string]*Stmt{}}
	}
	s := o.statements[expression]
	if s == nil {
		var err error
		if s, _, err = o.db.Prepare("SELECT " + expression); err != nil {
			return err
		}
		o.statements[expression] = s
	}
	defer s.Reset()
	for i, v := range args {
		if err := s.Bind(i+1, v); err != nil {
			return err
		}
	}
	if _, err := s.Step(); err != nil {
		return err
	}
	result(s.Value(0))
	return nil
}

func (o *original) close() error {
	for _, s := range o.statements {
		s.Close()
	}
	return o.db.Close()
}
