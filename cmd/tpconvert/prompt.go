package main

import "context"

func (q *query) prompt(ctx context.Context) error { return nil }
