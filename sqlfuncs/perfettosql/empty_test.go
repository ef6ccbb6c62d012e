package perfettosql

// Empty has all tables, without rows.
func Empty() *Dataset {
	return NewDataset(func(string) ([]Part, error) { return nil, nil })
}
