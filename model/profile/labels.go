package profile

// maxShared is how many labels each of the values of a sample gets.
const maxShared = 256

// Share returns the labels of a sample of which each of its values gets a copy, so that m labels of n values do not become m times n
// rows, and how many labels it leaves out.
func Share[Label any](labels []Label, values int) (shared []Label, left int) {
	if values < 2 || len(labels) <= maxShared {
		return labels, 0
	}
	return labels[:maxShared], len(labels) - maxShared
}
