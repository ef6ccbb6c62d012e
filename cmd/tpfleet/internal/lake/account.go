package lake

import "reflect"

// Account says what became of the traces in some results.
type Account struct {
	Tasks  int `json:"tasks"`
	OK     int `json:"ok"`     // added
	Bad    int `json:"bad"`    // added to the ledger alone
	Copies int `json:"copies"` // added to the ledger alone, as their content is in the tables
	Known  int `json:"known"`  // in the ledger before
	Failed int `json:"failed"` // not added
	// Forgotten counts those whose content was forgotten before: they are added to the ledger alone.
	Forgotten int `json:"forgotten,omitempty"`
	Replaced  int `json:"replaced,omitempty"` // whose new rows replaced old ones
	Large     int `json:"large,omitempty"`    // added to the ledger alone, as they take more than a worker may use
	Kept      int `json:"kept,omitempty"`     // whose old rows stay, as the new converter cannot read them
	// Superseded counts the traces whose rows left because a newer version of their object came.
	Superseded int `json:"superseded,omitempty"`
	// Again counts the good traces that were not added, because other traces of their task were in the tables, and a
	// file cannot be added in part, or because their files are gone. The next plan has them.
	Again int `json:"again"`
	Left  int `json:"left,omitempty"`  // without a result that was committed, after an interruption or an error
	Lossy int `json:"lossy,omitempty"` // of those added or replaced, that lack data: the columns lost and damaged of the ledger say how much
	// Unmeasured counts those of them for which a spec failed: the column metrics of the ledger says why.
	Unmeasured int `json:"unmeasured,omitempty"`
	// Truncated counts those of them that end too early.
	Truncated int `json:"truncated,omitempty"`
	Files     int `json:"files"`
	Tries     int `json:"tries"` // of the transaction
}

// Traces returns the number of traces in the results.
func (a *Account) Traces() int {
	return a.OK + a.Bad + a.Copies + a.Known + a.Failed + a.Forgotten + a.Replaced + a.Large + a.Kept + a.Again
}

// Add adds another account.
func (a *Account) Add(b Account) { add(a, b) }

// add adds counts to others, field by field.
func add[T any](counts *T, more T) {
	to, from := reflect.ValueOf(counts).Elem(), reflect.ValueOf(more)
	for i := range to.NumField() {
		to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
	}
}
